"""A toy paper: two data sets, two methods and a control, three seeds, two rounds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fedbench.base.files import write_text
from fedbench.paper.printed_numbers import Place, Printed, Stat
from fedbench.paper.tables_and_figures import Figure
from fedbench.plan.plan import Plan, make_plan
from fedbench.report.figures.drawing import Drawing, drawing
from fedbench.report.values.collected_frames import Collected

FULL, SMALL = "full", "small"
_PAPER = """
title: Toys & <i>games</i>
authors: A. Uthor
settings: {clients: 10, rounds: 2}
levels:
  dataset: {MNIST: {dataset: mnist}, Digits: {dataset: digits}}
  alpha: {each: {partition: {dr: {alpha: $}}}}
  method:
    A: {parts: []}
    <b>: {parts: [{fedprox: {mu: 0.1}}]}
    control_%: {parts: [{fedprox: {mu: 0.2}}]}
grids:
  main:
    axes: {dataset: [MNIST, Digits], alpha: [1, 0.1], method: [A, <b>, control_%]}
    seeds: [0, 1, 2]
tables:
  t: {title: Table 1, grid: main, where: {alpha: 1}, rows: [dataset, alpha], controls: [control_%]}
  best: {title: Table 1, grid: main, where: {alpha: 1}, rows: [dataset, alpha], at: best}
  first: {title: Table 1, grid: main, where: {alpha: 1}, rows: [dataset, alpha], at: 1}
figures:
  f: {title: Fig. 1, grid: main, where: {dataset: MNIST, alpha: 1}}
deviations: ["a < b & c"]
"""
_SMALL = """
about: Small & quick.
substitutes: {dataset: {mnist: digits}}
papers: {toy: {about: Digits < MNIST}}
"""


def case(folder: Path, scale: str = FULL, tables: tuple[str, ...] = ()) -> Plan:
    """The toy paper's plan at 'full' or 'small' scale."""
    for name, text in (
        ("papers/toy.yaml", _PAPER),
        ("scales/full.yaml", "about: As printed.\n"),
        ("scales/small.yaml", _SMALL),
    ):
        write_text(folder / "workflow" / name, text)
    return make_plan(folder / "workflow", scale, (), tables)


_COLUMNS = ["run_id", "status", "round", "rounds", "eval_every", "accuracy"]


def frame_of(
    plan: Plan, curves: dict[int, list[float]], method: str = "A", alpha: float = 1
) -> pd.DataFrame:
    """MNIST: accuracy by seed; a curve shorter than two rounds has diverged."""
    where = {"dataset": "MNIST", "alpha": alpha, "method": method}
    ids = {cell.seed: cell.run.id for cell in plan.select("toy", "main", where)}
    rows = [
        (ids[seed], "finished" if len(values) == 2 else "diverged", t, 2, 1, value)
        for seed, values in curves.items()
        for t, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def figure_of(plan: Plan, frame: pd.DataFrame, **figure: Any) -> Drawing:
    """What a figure of these fields shows of MNIST in these runs."""
    where = {"dataset": "MNIST"} | figure.pop("where", {})
    shown = Figure(title="F", grid="main", where=where, **figure)
    toy = plan.papers["toy"].model_copy(update={"figures": {"f": shown}})
    runs = Collected(frame, Path("none"))
    return drawing(replace(plan, papers={"toy": toy}), ("toy", "f"), runs)


def printed_of(*numbers: tuple[str, str, str, float, float]) -> Printed:
    """Printed accuracies of table t: data set, setting, method, mean, std."""
    places = {
        Place("t", dataset, setting, method, "accuracy"): Stat(mean, std)
        for dataset, setting, method, mean, std in numbers
    }
    return Printed(Path("toy.printed.csv"), places)


def test_the_toy_paper_has_all_its_cells(tmp_path: Path) -> None:
    plan = case(tmp_path)
    assert len(plan.cells) == 2 * 2 * 3 * 3
    assert not any(cell.substituted for cell in plan.cells)
