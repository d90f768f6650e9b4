"""Letters in figures: embedded in a PDF, taken from other fonts, and named where none has them."""

import re
import zlib
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from fedbench.base.files import read_text
from fedbench.report import build
from fedbench.report.figures import save
from fedbench.report.figures.save import write
from fedbench.store import Results, write_frame
from tests.report.report_case import FULL, case, frame_of

SCRIPT = "\U0001d49c"  # a script A, which STIX has and DejaVu Sans has not; both are matplotlib's


def titled(text):
    def draw():
        figure = Figure()
        figure.subplots().set_title(text)
        return figure

    return draw


@pytest.fixture
def own_fonts(monkeypatch):
    """Only the fonts that come with matplotlib, on any machine."""
    known = [font for font in save.fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(save.fontManager, "ttflist", known)


def embedded(pdf):
    """The fonts in a PDF file that matplotlib wrote."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL)
    found = [zlib.decompress(s) for s in streams if s.startswith(b"x")]
    return [TTFont(BytesIO(data)) for data in found if data.startswith(b"\0\1\0\0")]


def test_letters_of_a_pdf_stay_letters(tmp_path):
    write(titled("α AV"), tmp_path / "f.pdf")
    assert any("alpha" in font.getGlyphOrder() for font in embedded(tmp_path / "f.pdf"))


def test_letters_come_from_another_font_if_one_has_them(own_fonts, tmp_path):
    figure, lost = write(titled(f"{SCRIPT} A"), tmp_path / "f.svg", tmp_path / "f.png")
    assert lost == ""
    assert len(figure.axes[0].title.get_fontfamily()) == 2
    plain, _ = write(titled("A A"), tmp_path / "plain.svg")
    assert plain.axes[0].title.get_fontfamily() == ["sans-serif"]


def test_letters_that_no_font_has_are_named(own_fonts, tmp_path):
    _, lost = write(titled("联邦 α 联"), tmp_path / "f.svg")
    assert lost == "".join(sorted("联邦"))
    assert "联邦" in read_text(tmp_path / "f.svg")


def test_the_page_of_a_figure_says_which_letters_are_boxes(own_fonts, tmp_path):
    plan = case(tmp_path, FULL, ("t", "f"))
    paper = plan.papers["toy"]
    for title, boxes in (("Fig. 1", 0), ("联邦", 1)):
        figure = paper.figures["f"].model_copy(update={"title": title})
        plan.papers["toy"] = paper.model_copy(update={"figures": {"f": figure}})
        results = tmp_path / "results"
        write_frame(frame_of(plan, {0: [0.1, 0.5]}), Results(results).frame(FULL, "toy"))
        build(plan, results, tmp_path / "reports", tmp_path / "workflow/papers")
        page = read_text(tmp_path / "reports" / FULL / "toy.html")
        found = re.findall(r'<span class="missing">[^<]*</span>', page)
        assert len(found) == boxes
        assert all("联邦" in text or "邦联" in text for text in found)
