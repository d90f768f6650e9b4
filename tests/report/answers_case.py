"""A toy report with claims, tables, curves and runs that were recorded."""

import json
from pathlib import Path

import pandas as pd

from fedbench.base.files import write_text
from fedbench.plan.plan import Plan, make_plan
from fedbench.report import build
from fedbench.store import Results, write_frame
from tests.report.claim_case import HEADER

PAPER = """
title: A toy paper
authors: A. Uthor
bibtex: "@misc{toy, title = {A toy paper}}"
settings: {clients: 10, rounds: 4}
levels:
  dataset: {MNIST: {dataset: mnist}, Digits: {dataset: digits}}
  alpha: {each: {partition: {dr: {alpha: $}}}}
  method:
    A: {parts: []}
    B+: {parts: [{fedprox: {mu: 0.1}}]}
    trick: {parts: [{fedprox: {mu: 0.2}}]}
grids:
  main:
    axes: {dataset: [MNIST, Digits], alpha: [1, 0.1], method: [A, B+, trick]}
    seeds: [0, 1, 2]
tables:
  t: {title: Table 1, grid: main, rows: [dataset, alpha], controls: [trick]}
  long: {title: Table 2, grid: main, rows: [dataset, alpha, method], columns: [metric]}
figures:
  f: {title: Fig. 1, grid: main, where: {alpha: 1}, panels: [dataset]}
claims:
  better: {text: "A is better than B+ (Fig. 1).", table: t, kind: greater, winner: A, loser: B+,
    shown_in: [f]}
  worse: {text: B+ is better than A., table: t, kind: greater, winner: B+, loser: A}
  alone: {text: A is above 40., table: t, kind: greater, winner: A, loser: 40}
deviations: [None.]
"""
STUDY = PAPER.replace("settings:", "prints: false\nsettings:", 1)
SCALES = {
    "full": "about: As printed.\n",
    "small": "about: Small.\nsubstitutes: {dataset: {mnist: digits}}\n",
    "other": "about: Other.\nsettings: {clients: 5, batch: 8, lr: 0.2, participation: 0.5, "
    "epochs: 2, weight_decay: 0.1}\n",
    "curves": "about: Figures alone.\npapers: {toy: {keep: [f]}}\n",
}
PRINTED = "".join(
    f"t,{dataset},alpha={alpha},{method},accuracy,{value},1.0\n"
    for dataset in ("MNIST", "Digits")
    for alpha in (1, 0.1)
    for method, value in (("A", 50.0), ("B+", 52.0))
)
LAST = {"A": 60.0, "B+": 50.0, "trick": 70.0}  # accuracy in percent; + 1 for each seed


def written(
    folder: Path,
    scale: str = "full",
    paper: str = PAPER,
    workers: int = 1,
    printed: str = PRINTED,
) -> Path:
    """The folder of the report; all runs were finished, in 100 seconds each."""
    plan = _plan(folder, scale, paper, printed)
    _results(plan, folder / "results")
    build(plan, folder / "results", folder / "reports", folder / "workflow/papers", workers)
    return folder / "reports" / scale


def _plan(folder: Path, scale: str, paper: str, printed: str = PRINTED) -> Plan:
    files = {"papers/toy.yaml": paper, "papers/toy.printed.csv": HEADER + printed}
    for name, text in {**files, f"scales/{scale}.yaml": SCALES[scale]}.items():
        write_text(folder / "workflow" / name, text)
    return make_plan(folder / "workflow", scale)


def _results(plan: Plan, results: Path) -> None:
    rows = []
    for cell in {cell.run_id: cell for cell in plan.cells}.values():
        run, last = cell.run_id, LAST.get(str(cell.coords["method"]), 30.0) + cell.seed
        curve = [last / 4, last / 2, 0.75 * last, last]
        rows += [(run, "finished", t, 4, 1, x / 100) for t, x in enumerate(curve, start=1)]
        _record(results / "runs" / run, run)
    names = ["run_id", "status", "round", "rounds", "eval_every", "accuracy"]
    write_frame(pd.DataFrame(rows, columns=names), Results(results).frame(plan.scale, "toy"))


def _record(folder: Path, run: str) -> None:
    tune = {"grid": {"lr": [0.3, 0.03]}}
    record = {
        "id": run, "status": "finished", "rounds": 4,
        "settings": {"clients": 10, "parts": [], "lr": 0.03, "tune": tune},
        "resolved": {"lr": 0.3}, "seconds": {"train": 90.0, "server": 10.0}, "sample_passes": 1,
        "ended": "2026-11-23T01:02:03+00:00",
        "device": "cpu", "versions": {"fedbench": "0.1.0"},
        "data": {"name": "digits", "source": "a test", "checksum": "ab"},
        "files": {"rounds.parquet": "cd"},
    }  # fmt: skip
    write_text(folder / "run.json", json.dumps(record))
