"""Which runs a page draws side by side, and the numbers behind each figure."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fedbench.report.figures.drawing import drawing
from fedbench.report.pages.runs import side_by_side
from fedbench.report.values.collected_frames import Collected
from tests.report.report_case import case, frame_of

CURVES = {0: [0.1, 0.3], 1: [0.2, 0.5], 2: [0.2, 0.4]}


def test_the_runs_that_are_there_by_setting_and_method(tmp_path: Path) -> None:
    plan = case(tmp_path)
    frame = pd.concat([frame_of(plan, CURVES), frame_of(plan, {1: [0.2]}, "<b>")])
    found = side_by_side(plan, "toy", frame)
    where = {"dataset": "MNIST", "alpha": 1}
    ids = {
        name: [cell.run_id for cell in plan.select("toy", "main", where | {"method": name})]
        for name in ("A", "<b>")
    }
    assert found["runs"] == {"MNIST, α = 1": {"A": ids["A"], "<b>": [ids["<b>"][1]]}}
    assert found["drawn"] == ["A", "<b>"]


def test_a_paper_without_finished_runs_draws_nothing(tmp_path: Path) -> None:
    plan = case(tmp_path)
    assert side_by_side(plan, "toy", frame_of(plan, {})) == {}


def test_a_setting_of_two_grids_has_the_grids_name(tmp_path: Path) -> None:
    plan = case(tmp_path)
    same = [replace(cell, grid="more") for cell in plan.cells]
    found = side_by_side(replace(plan, cells=[*plan.cells, *same]), "toy", frame_of(plan, CURVES))
    assert [*found["runs"]] == ["MNIST, α = 1"]  # they are the same runs

    other = [replace(cell, run=cell.run.changed(lr=0.2)) for cell in same]
    frame = frame_of(plan, CURVES)
    more = frame.assign(
        run_id=frame["run_id"].map({a.run_id: b.run_id for a, b in zip(same, other, strict=True)})
    )
    found = side_by_side(
        replace(plan, cells=[*plan.cells, *other]), "toy", pd.concat([frame, more])
    )
    assert [*found["runs"]] == ["MNIST, α = 1 (main)", "MNIST, α = 1 (more)"]


def test_four_methods_are_drawn_first_beside_fedavg(tmp_path: Path) -> None:
    plan = case(tmp_path)
    (run,) = {cell.run_id for cell in plan.cells[:1]}
    accuracies = {"P": 0.5, "Q": 0.9, "FedAvg": 0.1, "R": 0.6, "S": 0.8, "T": 0.7}
    cells = [
        replace(plan.cells[0], coords={"method": name}, run=replaced(plan.cells[0].run, i))
        for i, name in enumerate(accuracies)
    ]
    frame = pd.DataFrame(
        {"run_id": [c.run_id for c in cells], "accuracy": accuracies.values(), "round": 1}
    )
    found = side_by_side(replace(plan, cells=cells), "toy", frame)
    assert found["drawn"] == ["Q", "FedAvg", "R", "S", "T"]
    assert [*found["runs"]] == ["all runs"]
    assert run in found["runs"]["all runs"]["P"]


def replaced(run, seed):
    return run.changed(seed=seed)


def test_curves_have_mean_and_deviation_of_each_round_in_numbers(tmp_path: Path) -> None:
    plan = case(tmp_path)
    collected = Collected(frame_of(plan, CURVES), tmp_path / "runs")
    drawn = drawing(plan, ("toy", "f"), collected)
    rows = drawn.kind.numbers(drawn.panels)
    last = rows[(rows["hue"] == "A") & (rows["round"] == 2)].iloc[0]
    assert (last["mean"], last["std"], last["runs"]) == (pytest.approx(40), pytest.approx(10), 3)
    assert {*rows["hue"]} == {"A"}  # the others have no runs
