"""Letters in PDF figures: embedded as letters, without the rules by which text is shaped."""

import re
import zlib
from io import BytesIO

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from fedbench.report.figures.look import write


def embedded(pdf):
    """The fonts in a PDF file that matplotlib wrote."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL)
    found = [zlib.decompress(s) for s in streams if s.startswith(b"x")]
    return [TTFont(BytesIO(data)) for data in found if data.startswith(b"\0\1\0\0")]


def test_a_pdf_has_the_letters_and_no_rules_for_placing_them(tmp_path):
    def draw():
        figure = Figure()
        figure.subplots().set_title("α AV")
        return figure

    write(draw, tmp_path / "f.pdf")
    fonts = embedded(tmp_path / "f.pdf")
    assert any("alpha" in font.getGlyphOrder() for font in fonts)
    assert not [tag for font in fonts for tag in ("GSUB", "GPOS", "GDEF", "kern") if tag in font]
    assert "GPOS" not in subset.Options().drop_tables  # of whoever cuts a font down afterwards
