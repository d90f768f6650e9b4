"""Refuses, before anything is trained, a plan whose tables, figures or claims lack values."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at
from fedbench.paper.claims import Together
from fedbench.paper.grid_points import Cell, Point, matches
from fedbench.paper.metrics import OF_EVERY_RUN, require_measured, scored
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import Level, Where, level_text
from fedbench.spec import RunSpec

_Asked = tuple[str, Iterable[str], list[RunSpec]]  # where metrics stand, these, and of which runs
_Place = tuple[dict[str, Level], int, str]  # a point of a grid, a seed, and the run's id


def check_paper(
    file: Path, paper: Paper, points: list[Point], cells: list[Cell], trials: dict[str, RunSpec]
) -> None:
    """Refuse a paper that asks for what none of its cells will have, or trains the same twice.

    points: all of its grids. trials: one of each run that has a search, by the run's id.
    """
    with at(str(file)):
        for key, grid in paper.grids.items():
            of_grid = [(cell.coords, cell.seed, cell.run_id) for cell in cells if cell.grid == key]
            whole = [point for point in points if point.grid == key]
            for axis in grid.axes:
                _refuse_same_runs(f"grids.{key}.axes.{axis}", axis, of_grid, whole)
        for key, table in paper.tables.items():
            with at(f"tables.{key}.minus"):
                _require_bases(table, [cell for cell in cells if cell.grid == table.grid])
        for place, metrics, runs in _asked_for(paper, cells, trials):
            with at(place):
                require_measured(metrics, runs)


def _asked_for(paper: Paper, cells: list[Cell], trials: dict[str, RunSpec]) -> Iterator[_Asked]:
    """All metrics that searches, tables, figures and claims ask for."""

    def runs(grid: str, where: Where) -> list[RunSpec]:
        return [cell.run for cell in cells if cell.grid == grid and matches(cell.coords, where)]

    tuned = ((cell.run.tune, trials[cell.run_id]) for cell in cells if cell.run.tune)
    yield from (("tune.by", (scored(tune),), [trial]) for tune, trial in tuned)
    for key, table in paper.tables.items():
        yield f"tables.{key}.metrics", table.metrics, runs(table.grid, table.where)
    kinds = registry.entries("figure")
    for key, figure in paper.figures.items():
        entry, of_figure = kinds[figure.kind.name], runs(figure.grid, figure.where)
        told = entry.constants | entry.fields | figure.kind.params  # `boxes` reads what it is told
        if reads := told.get("reads") or told.get("table"):
            _require_watched(f"figures.{key}: kind {entry.name}", reads, of_figure)
        else:
            cost = figure.kind.params.get("cost", entry.fields.get("cost"))
            yield f"figures.{key}", (*figure.metrics, *([str(cost)] if cost else [])), of_figure
    for key, claim in paper.claims.items():
        if not isinstance(claim, Together):
            grid = claim.grid or paper.tables[claim.table].grid
            yield f"claims.{key}", claim.measured(), runs(grid, {})


def _require_bases(table: Table, cells: list[Cell]) -> None:
    """Refuse a table of differences from runs that there are not."""
    there = {str((cell.coords, cell.seed)) for cell in cells}
    for cell in cells if table.minus else ():
        base = str((cell.coords | table.minus, cell.seed))
        if matches(cell.coords, table.where) and base not in there:
            raise FedbenchError(f"the run at {cell.coords}, seed {cell.seed}, has no such base")


def _require_watched(place: str, table: str, runs: list[RunSpec]) -> None:
    """Refuse a figure if one of its runs does not write the probe's table that its kind reads."""
    for run in runs if table not in OF_EVERY_RUN else ():
        if table not in (probe.name for probe in run.watch):
            raise FedbenchError(
                f"{place} reads the table of the probe '{table}', which run {run.id} does not "
                "name in its `watch`"
            )


def _refuse_same_runs(place: str, axis: str, cells: list[_Place], points: list[Point]) -> None:
    """Refuse levels of an axis that are the same runs wherever both stand, unless by a scale."""
    cut = _same(axis, cells)
    levels = {*cut, *itertools.chain.from_iterable(cut.values())}
    whole = [point for point in points if point.coords[axis] in levels]
    runs = ((point.coords, 0, RunSpec(**point.settings).id) for point in whole)
    for first, others in _same(axis, runs).items():
        if same := [level for level in others if level in cut.get(first, ())]:
            told = ", ".join(map(level_text, (first, *same)))
            raise FedbenchError(
                f"{place}: the levels {told} are the same runs; what a level sets must depend on "
                "it (in a template by '$') and have an effect"
            )


def _same(axis: str, places: Iterable[_Place]) -> dict[Level, list[Level]]:
    """By level of the axis, those after it with the same runs wherever both stand."""
    runs: dict[Level, dict[str, str]] = {}
    for coords, seed, run_id in places:
        beside = [level for name, level in coords.items() if name != axis]
        runs.setdefault(coords[axis], {})[str([*beside, seed])] = run_id
    found: dict[Level, list[Level]] = {}
    for one, other in itertools.combinations(runs, 2):
        shared = runs[one].keys() & runs[other].keys()
        if shared and all(runs[one][place] == runs[other][place] for place in shared):
            found.setdefault(one, []).append(other)
    return found
