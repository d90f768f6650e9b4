"""Checks what a report will show before any training, by making what needs no run."""

from pathlib import Path

import pandas as pd

from fedbench.base.errors import FedbenchError, at
from fedbench.base.plugins import find_file
from fedbench.paper.claims import Together
from fedbench.paper.grid_points import matches, points, resolve
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import printed_numbers
from fedbench.paper.tables_and_figures import Figure, Table
from fedbench.paper.yaml_notation import reading
from fedbench.plan.plan import Plan
from fedbench.report.claims.comparison_tree import expand
from fedbench.report.figures.drawing import drawing
from fedbench.report.tables.facts import fact_table
from fedbench.report.values.collected_frames import Collected
from fedbench.spec import RunSpec
from fedbench.spec.fields import WORDS


def check_report(plan: Plan, papers: Path) -> None:
    """Raise `FedbenchError` on what no report could show; some tables of facts import torch."""
    nothing = Collected(pd.DataFrame(columns=["run_id", "status", "round"]), Path())
    for name, paper in plan.papers.items():
        file, whole = find_file(papers, f"{name}.yaml"), plan.asked[name]
        printed = printed_numbers(file, whole)
        for key, claim in whole.claims.items():
            with at(str(file)):
                if not isinstance(claim, Together):
                    expand(f"claims.{key}", claim, whole)
        for key in paper.figures:
            with at(f"{file}: figures.{key}"):
                drawing(plan, (name, key), nothing)
        for key in paper.facts:
            with at(f"{file}: facts.{key}"):
                fact_table(key, paper, printed)
        for key, item in paper.items():
            with at(f"{file}: {key}"):
                _require_rounds(paper, item)
        for cell in [each for each in plan.cells if each.paper == name]:
            with at(f"{file}: grids.{cell.grid} at {cell.coords}"):
                _require_trials(cell.run)


def _require_rounds(paper: Paper, item: Table | Figure) -> None:
    grid = paper.grids[item.grid]
    shown = [coords for coords in points(grid) if matches(coords, item.where)]
    usual = RunSpec.model_fields["rounds"].default
    longest = max((resolve(paper, grid, each).get("rounds", usual) for each in shown), default=0)
    cost = item.kind.params.get("cost") if isinstance(item, Figure) else None
    for metric in (*item.metrics, *([str(cost)] if cost else [])):
        wanted = reading(metric, getattr(item, "at", "final")).needs
        if wanted > longest > 0:
            said = f"'{metric}' needs {wanted} rounds, but no run of the grid '{item.grid}'"
            raise FedbenchError(f"metrics: {said} has more than {longest} rounds")


def _require_trials(run: RunSpec) -> None:
    if run.tune and run.tune.by not in WORDS:
        wanted, first = reading(run.tune.by).needs, run.tune.first
        rounds = min([run.trial().rounds, *([first.rounds] if first else [])])
        if wanted > rounds:
            told = f"'{run.tune.by}' needs {wanted} rounds, but a trial has {rounds}"
            raise FedbenchError(f"tune.by: {told}")
