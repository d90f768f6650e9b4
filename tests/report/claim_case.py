"""A toy paper with claims, its runs' last accuracies, and what it prints."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import yaml

from fedbench.base.files import write_text
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import read_printed
from fedbench.plan.plan import Cell, Plan, make_plan
from fedbench.report.claims.finding import Finding
from fedbench.report.claims.judge import findings
from fedbench.report.values.collected_frames import Collected, prepared

BASE = """
title: Toy
authors: Nobody
settings: {clients: 10, rounds: 4}
levels:
  dataset: {MNIST: {dataset: mnist}, Digits: {dataset: digits}}
  alpha: {each: {partition: {dr: {alpha: $}}}}
  method:
    A: {parts: []}
    B: {parts: [{fedprox: {mu: 0.1}}]}
    C: {parts: [{fedprox: {mu: 0.2}}]}
    A+X: {parts: [{fedprox: {mu: 0.3}}]}
    B+X: {parts: [{fedprox: {mu: 0.4}}]}
    trick: {parts: [{fedprox: {mu: 0.5}}]}
grids:
  main:
    axes: {dataset: [MNIST, Digits], alpha: [1, 0.1, 0.01], method: [A, B, C, trick]}
    seeds: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  star:
    axes: {dataset: [Digits], alpha: [1], method: [A, B, A+X, B+X]}
    seeds: [0, 1, 2]
  twice:
    axes: {dataset: [MNIST, Digits], alpha: [1], method: [A, B]}
    seeds: [0, 1, 2]
    settings: {batch: 7}
    cases: [{where: {dataset: Digits, method: B}, settings: {parts: []}}]
tables:
  t: {title: Table 1, grid: main, rows: [dataset, alpha], controls: [trick]}
  small: {title: Table 2, grid: main, where: {alpha: 1}, rows: [dataset, alpha], unit: fraction}
  best: {title: Table 3, grid: main, where: {alpha: 1}, rows: [dataset, alpha], at: best}
  both: {title: Table 4, grid: main, where: {alpha: [1, 0.1]}, over: [alpha], rows: [dataset]}
"""
HEADER = "table,dataset,setting,method,metric,mean,std\n"
SCALES = {
    "full": "about: As printed.\n",
    "three": "about: Three seeds.\nseeds: 3\n",
    "small": "about: Small.\nseeds: 3\nsubstitutes: {dataset: {mnist: digits}}\n",
    "one": "about: One seed.\nseeds: 1\n",
    "left": "about: One data set.\nseeds: 3\nlevels: {dataset: [Digits]}\n",
}
COLUMNS = ["run_id", "status", "round", "rounds", "eval_every", "accuracy"]
Curve = list[float]  # accuracies in percent by round; fewer than four: diverged
Values = Callable[[Cell], Curve | None]


def plan_of(claims: Mapping[str, Mapping[str, object]], scale: str = "three") -> Plan:
    """The toy with these claims at a scale; the text of each is its name."""
    worded = {name: {"text": name, **claim} for name, claim in claims.items()}
    paper = Paper(**yaml.safe_load(BASE), claims=worded)
    return replace(_plan(scale), papers={"toy": paper}, asked={"toy": paper})


@cache
def _plan(scale: str) -> Plan:
    with TemporaryDirectory() as folder:
        for name, text in {"papers/toy": BASE, f"scales/{scale}": SCALES[scale]}.items():
            write_text(Path(folder, f"{name}.yaml"), text)
        return make_plan(Path(folder), scale)


def frame_of(plan: Plan, values: Values) -> pd.DataFrame:
    """The collected frame; a cell without values has not been run. A probe's slope is as given."""
    rows = [
        (cell.run.id, "finished" if len(curve) == 4 else "diverged", t, 4, 1, value / 100)
        for cell in plan.cells
        if (curve := values(cell)) is not None
        for t, value in enumerate(curve, start=1)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS).astype({"accuracy": float})
    frame = frame.drop_duplicates(["run_id", "round"], keep="last")  # of one run for two cells
    return frame.assign(drift_slope=frame["accuracy"])


def judge(
    plan: Plan, values: Values, printed: str = "", results: Path = Path("none")
) -> dict[str, Finding]:
    """The toy's findings by claim; `printed` are lines 'table,dataset,setting,method,…'."""
    collected = Collected(prepared(frame_of(plan, values)), results / "runs")
    with TemporaryDirectory() as folder:
        file = Path(folder, "toy.printed.csv")
        write_text(file, HEADER + printed)
        numbers = read_printed(file)
    return {found.key: found for found in findings(plan, "toy", collected, numbers)}


def flat(value: float) -> Curve:
    """An accuracy that is the same in all four rounds."""
    return [value] * 4
