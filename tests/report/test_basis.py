"""The page of a paper says beside each verdict how it was reached."""

from html import unescape
from pathlib import Path

from fedbench.report import build
from fedbench.report.template_words import say
from tests.report.claim_case import HEADER, frame_of, judge, plan_of
from tests.report.test_claims import DUEL, gains


def test_a_written_page_contains_the_sentence_on_how_a_verdict_was_reached(tmp_path: Path) -> None:
    plan, values = plan_of({"c": DUEL}), gains(4, 5, 6)
    (tmp_path / "results/three").mkdir(parents=True)
    frame_of(plan, values).to_parquet(tmp_path / "results/three/toy.parquet")
    (tmp_path / "toy.printed.csv").write_text(HEADER, encoding="utf-8")
    build(plan, tmp_path / "results", tmp_path / "reports", tmp_path)
    page = unescape((tmp_path / "reports/three/toy.html").read_text(encoding="utf-8"))
    said = say("claims.basis", judge(plan, tmp_path, values)["c"])
    assert "97.5 %" in said
    assert said in page
