"""The published pages say what the papers' files say was found."""

import html
import re

import pytest

from fedbench.base.files import read_text
from fedbench.paper.paper import load_papers
from fedbench.paper.scale import load_scale
from tests.project import ROOT

_, SCALE = load_scale(ROOT / "workflow", "cpu")
PAGES = ROOT / "reports/published/cpu"
PLANNED = {key: cut.about for key, cut in SCALE.papers.items() if cut.about}
TOLD = {key: paper for key, paper in load_papers(ROOT / "workflow")[0].items() if paper.findings}


def letters(text: str) -> str:
    """The text without spaces and the signs around code, which pages show as they like."""
    return re.sub(r"[\s`]", "", html.unescape(re.sub(r"<[^>]+>", "", text)))


def in_short(key: str) -> list[str]:
    """What is said of the paper in short, sentence by sentence where it is divided."""
    said = TOLD[key].in_short
    texts = [said] if isinstance(said, str) else [said.agrees, said.differs, said.why]
    return [text for text in texts if text]


@pytest.mark.parametrize("key", TOLD)
def test_what_is_told_of_a_paper_in_short_is_short(key: str) -> None:
    for text in in_short(key):  # a full stop at the end of a sentence, not one in a number
        assert len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", text)) <= (2 if TOLD[key].prints else 3), (
            text
        )


@pytest.mark.parametrize("key", TOLD)
def test_every_finding_stands_on_its_paper_page(key: str) -> None:
    page = letters(read_text(PAGES / f"{key}.html"))
    findings = [f"{says}{text}" for says, text in TOLD[key].findings.items()]
    for finding in (*in_short(key), *findings):
        assert letters(finding) in page, finding


@pytest.mark.parametrize("key", PLANNED)
def test_every_page_says_what_the_scale_changes(key: str) -> None:
    page = letters(read_text(PAGES / f"{key}.html"))
    assert letters(PLANNED[key]) in page


def test_the_front_page_opens_with_what_was_found() -> None:
    page = letters(read_text(PAGES / "index.html"))
    said = [text for key in TOLD for text in in_short(key)]
    assert said
    for words in said:
        assert letters(words) in page, words
