"""Checks before anything is trained that every table, figure and claim will have its values."""

from collections.abc import Iterator
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at
from fedbench.base.plugins import find_file
from fedbench.paper.claims import SingleClaim, Together, Trend
from fedbench.paper.columns import require_column
from fedbench.paper.items import Figure
from fedbench.paper.paper import Paper
from fedbench.paper.places import Where, as_tuple, reading
from fedbench.plan.plan import Plan, make_plan
from fedbench.plan.printed import check_printed, printed_numbers
from fedbench.plan.same_runs import refuse_same_runs
from fedbench.plan.search import scored, trial_runs
from fedbench.spec import RunSpec

_OF_EVERY_RUN = ("clients", "rounds")  # tables that every run folder has


def planned(
    workflow: Path, scale: str, papers: tuple[str, ...] = (), tables: tuple[str, ...] = ()
) -> Plan:
    """The plan, checked: its runs will have the metrics and tables that the papers ask for.

    Raises `FedbenchError` naming the file and the place of a metric, a probe or a printed number
    that is not there. Imports no torch.
    """
    plan = make_plan(workflow, scale, papers, tables)
    for name, paper in plan.papers.items():
        with at(str(find_file(workflow / "papers", f"{name}.yaml"))):
            refuse_same_runs(plan, name, paper)
            _check_searches(plan, name)
            _check_items(plan, name, paper)
            _check_claims(plan, name, paper)
        numbers = printed_numbers(workflow / "papers", name, plan.whole[name])
        check_printed(numbers, plan.whole[name])
    return plan


def _check_searches(plan: Plan, name: str) -> None:
    runs = {
        plan.searches[cell.run_id]: cell.run
        for cell in plan.cells
        if cell.paper == name and cell.run_id in plan.searches
    }
    for run in runs.values():
        if run.tune:
            with at("tune.by"):
                _require((scored(run.tune),), trial_runs(run)[:1])


def _check_items(plan: Plan, name: str, paper: Paper) -> None:
    for key, table in paper.tables.items():
        runs = _runs(plan, name, table.grid, table.where)
        with at(f"tables.{key}.metrics"):
            _require(table.metrics, runs)
    for key, figure in paper.figures.items():
        runs = _runs(plan, name, figure.grid, figure.where)
        with at(f"figures.{key}"):
            _check_figure(figure, runs)


def _check_figure(figure: Figure, runs: list[RunSpec]) -> None:
    """Refuse a figure whose metric, or the probe's table that its kind reads, no run will have."""
    entry = registry.find("figure", figure.kind.name)
    reads = entry.constants.get("reads", "")
    if not reads:
        cost = figure.kind.params.get("cost", entry.fields.get("cost"))
        _require((*figure.metrics, *([str(cost)] if cost else [])), runs)
    for run in runs if reads and reads not in _OF_EVERY_RUN else ():
        if reads not in (probe.name for probe in run.watch):
            raise FedbenchError(
                f"kind {figure.kind.name} reads the table of the probe '{reads}', which run "
                f"{run.id} does not name in its `watch`"
            )


def _check_claims(plan: Plan, name: str, paper: Paper) -> None:
    for key, claim in paper.claims.items():
        if isinstance(claim, Together):
            continue
        table = paper.tables.get(claim.table)
        runs = _runs(plan, name, table.grid if table else claim.grid, {})
        with at(f"claims.{key}"):
            _require(tuple(_measured(claim)), runs)


def _measured(claim: SingleClaim) -> Iterator[str]:
    """The metrics that a claim names itself, as such or as levels of the axis `metric`."""
    yield from claim.metrics
    if isinstance(claim, Trend):
        yield from map(str, claim.along.get("metric", ()))
    for levels in (claim.where, *(side for _, side in claim.sides() if isinstance(side, dict))):
        yield from map(str, as_tuple(levels.get("metric", ())))


def _require(metrics: tuple[str, ...], runs: list[RunSpec]) -> None:
    for metric in metrics:
        for column in reading(metric).columns:
            require_column(column, runs)


def _runs(plan: Plan, name: str, grid: str, where: Where) -> list[RunSpec]:
    return [cell.run for cell in plan.select(name, grid, where)]
