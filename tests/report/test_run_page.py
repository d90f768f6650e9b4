"""The page of a run: how much of a long history its curves show."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.report.pages.runs import shards
from tests.report.report_case import case, frame_of


def told(folder: Path, rounds: int) -> dict[str, Any]:
    """What the page is told of a run that scored so many rounds."""
    plan = case(folder)
    frame = frame_of(plan, {0: [t / 1000 for t in range(1, rounds + 1)]})
    (script,) = shards(plan, {"toy": frame}, {}).values()
    (run,) = json.loads(script.strip().removeprefix("showRuns(")[:-2])["runs"].values()
    return dict(run)


@pytest.mark.parametrize(("rounds", "shown"), [(20, 20), (60, 60), (61, 60), (500, 60)])
def test_curves_have_60_points_at_most(tmp_path: Path, rounds: int, shown: int) -> None:
    run = told(tmp_path, rounds)
    assert (run["points"], len(run["x"]), len(run["curves"]["Accuracy (%)"])) == (
        rounds,
        shown,
        shown,
    )


def test_points_are_evenly_spaced_from_the_first_to_the_last(tmp_path: Path) -> None:
    run = told(tmp_path, 119)  # every second of 119
    assert run["x"] == list(range(1, 120, 2))
    assert run["curves"]["Accuracy (%)"] == pytest.approx([t / 10 for t in run["x"]])


def test_a_column_without_a_finite_value_has_no_curve(tmp_path: Path) -> None:
    plan = case(tmp_path)
    frame = frame_of(plan, {0: [0.1, 0.2]}).assign(train_loss=float("inf"), loss=[float("inf"), 2])
    (script,) = shards(plan, {"toy": frame}, {}).values()
    (run,) = json.loads(script.strip().removeprefix("showRuns(")[:-2])["runs"].values()
    assert run["curves"]["Loss"] == [None, 2]
    assert "Training loss" not in run["curves"]
