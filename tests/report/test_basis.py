"""The page of a paper says beside each verdict how it was reached."""

from html import unescape
from pathlib import Path

from fedbench.base.files import read_text, write_text
from fedbench.report import build
from fedbench.report.template_words import say
from fedbench.store import Results, write_frame
from tests.report.claim_case import HEADER, frame_of, judge, plan_of
from tests.report.test_claims import DUEL, gains


def test_a_written_page_contains_the_sentence_on_how_a_verdict_was_reached(tmp_path: Path) -> None:
    plan, values = plan_of({"c": DUEL}), gains(4, 5, 6)
    write_frame(frame_of(plan, values), Results(tmp_path / "results").frame("three", "toy"))
    write_text(tmp_path / "toy.printed.csv", HEADER)
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path)
    page = unescape(read_text(tmp_path / "reports/three/toy.html"))
    said = say("claims.basis", judge(plan, values)["c"])
    assert "97.5 %" in said
    assert said in page
