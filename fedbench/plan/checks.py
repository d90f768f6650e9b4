"""Refuses, before anything is trained, a plan whose tables, figures and claims would lack values.

First a scale or a selection that names what there is not; then, for each paper, metrics, probes'
tables and printed numbers that no run or cell will have, and levels that are the same runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, require_among
from fedbench.base.plugins import files_by_name, find_file
from fedbench.paper.claims import SingleClaim, Together, Trend
from fedbench.paper.items import Figure, Grid
from fedbench.paper.metrics import require_column
from fedbench.paper.notation import Level, Where, as_tuple, level_text, no_level, reading
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, Scale
from fedbench.plan.points import Cell, matches, points, printed_choices, resolve
from fedbench.plan.printed import check_printed, printed_numbers
from fedbench.plan.search import scored, trial_runs
from fedbench.spec import LISTED, NAMED, RunSpec

_KINDS = {**{name: name for name in NAMED}, **LISTED}  # the setting → the kind of what it names
_OF_EVERY_RUN = ("clients", "rounds")  # tables that every run folder has
_Place = tuple[dict[str, Level], int, str]  # a point of a grid, a seed, and the run's id


def check_scale(
    workflow: Path, name: str, scale: Scale, papers: dict[str, Paper], tables: tuple[str, ...]
) -> None:
    """Refuse a scale that names a paper, table, figure, level, point or run that there is not.

    And a selection of `tables` that names no table or figure of these papers. What the scale says
    of papers that are not among these, or of all papers, is not checked without them.
    """
    files = files_by_name(workflow / "papers", "*.yaml")
    file = find_file(workflow / "scales", f"{name}.yaml")
    _check_names(str(file), scale)
    if papers.keys() >= files.keys():
        _check_levels(f"{file}: levels", scale.levels, papers.values())
        for case in scale.seed_cases:
            _check_levels(f"{file}: seed_cases.where", case.where, papers.values())
    for paper, by in scale.papers.items():
        place = f"{file}: papers.{paper}"
        if paper not in files:
            raise FedbenchError(f"{place}: no such paper")
        _check_names(place, by)
        if paper in papers:
            _check_cut(place, by, papers[paper])
    pairs = [(name, key) for name, paper in papers.items() for key, _ in paper.everything()]
    for table in tables:
        if not any(table in (key, f"{name}/{key}") for name, key in pairs):
            raise FedbenchError(f"tables: no table or figure '{table}' in {', '.join(papers)}")


def _check_cut(place: str, by: Cut, paper: Paper) -> None:
    _check_levels(f"{place}.levels", by.levels, [paper])
    places = [(key, coords) for key, grid in paper.grids.items() for coords in points(grid)]
    for case in by.seed_cases:
        if not any(case.means(*each) for each in places):
            told = f"no grid of the paper has a point of {case.words()}"
            raise FedbenchError(f"{place}.seed_cases: {told}")
    runs = [printed_choices(resolve(paper, paper.grids[key], at)) for key, at in places]
    for few in by.cases:  # one that means no run, as a misspelt name would
        if not any(few.means(run) for run in runs):
            raise FedbenchError(f"{place}.cases: no run of the paper has {few.words()}")
    keys = [key for key, _ in paper.everything()]
    for key in by.keep or ():
        require_among(f"{place}.keep", "table or figure", key, keys)


def _check_names(place: str, by: Cut) -> None:
    """Refuse a name in `where` or `substitutes` that nothing has, in whatever paper it is meant."""
    for field, replacements in by.substitutes.items():
        kind = _KINDS[field]
        with at(f"{place}: substitutes.{field}"):
            for name, other in replacements.items():
                registry.find(kind, name)
                registry.require_known(kind, other.name, other.params)
    for case in by.cases:
        for field, wanted in case.where.items():
            if field in _KINDS:
                with at(f"{place}: cases.where.{field}"):
                    for each in as_tuple(wanted):
                        registry.find(_KINDS[field], str(each))


def _check_levels(
    place: str, chosen: Mapping[str, Level | tuple[Level, ...]], papers: Iterable[Paper]
) -> None:
    """Refuse an axis or a level that no grid of these papers has."""
    axes: dict[str, list[Level]] = {}
    for grid in [grid for paper in papers for grid in paper.grids.values()]:
        for axis, levels in grid.axes.items():
            axes.setdefault(axis, []).extend(levels)
    for axis, wanted in chosen.items():
        require_among(place, "axis", axis, axes)
        for level in as_tuple(wanted):
            if level not in axes[axis]:
                raise FedbenchError(f"{place}: {no_level(level, axes[axis], f'level of {axis}')}")


def check_paper(
    file: Path, whole: Paper, shown: Paper, cells: Sequence[Cell], searches: Mapping[str, str]
) -> None:
    """Refuse a paper, whose YAML is `file`, that asks its cells for what they will not have.

    whole, shown: as in its file, and without what is left out; searches: their ids, by run.
    """
    with at(str(file)):
        _refuse_same_runs(shown, cells)
        searched = {searches[cell.run_id]: cell.run for cell in cells if cell.run_id in searches}
        for run in searched.values():
            if run.tune:
                _require("tune.by", (scored(run.tune),), trial_runs(run)[:1])
        for key, table in shown.tables.items():
            runs = _runs(cells, table.grid, table.where)
            _require(f"tables.{key}.metrics", table.metrics, runs)
        for key, figure in shown.figures.items():
            _check_figure(f"figures.{key}", figure, _runs(cells, figure.grid, figure.where))
        for key, claim in shown.claims.items():
            if not isinstance(claim, Together):
                grid = shown.tables[claim.table].grid if claim.table in shown.tables else claim.grid
                _require(f"claims.{key}", _measured(claim), _runs(cells, grid, {}))
    check_printed(printed_numbers(file.parent, file.stem, whole), whole)


def _check_figure(place: str, figure: Figure, runs: list[RunSpec]) -> None:
    """Refuse a figure whose metric, or the probe's table that its kind reads, no run will have."""
    entry = registry.find("figure", figure.kind.name)
    reads = entry.constants.get("reads", "")
    if not reads:
        cost = figure.kind.params.get("cost", entry.fields.get("cost"))
        _require(place, (*figure.metrics, *([str(cost)] if cost else [])), runs)
    for run in runs if reads and reads not in _OF_EVERY_RUN else ():
        if reads not in (probe.name for probe in run.watch):
            raise FedbenchError(
                f"{place}: kind {figure.kind.name} reads the table of the probe '{reads}', which "
                f"run {run.id} does not name in its `watch`"
            )


def _measured(claim: SingleClaim) -> Iterator[str]:
    """The metrics that a claim names itself, as such or as levels of the axis `metric`."""
    yield from claim.metrics
    if isinstance(claim, Trend):
        yield from map(str, claim.along.get("metric", ()))
    for levels in (claim.where, *(side for _, side in claim.sides() if isinstance(side, dict))):
        yield from map(str, as_tuple(levels.get("metric", ())))


def _require(place: str, metrics: Iterable[str], runs: list[RunSpec]) -> None:
    with at(place):
        for metric in metrics:
            for column in reading(metric).columns:
                require_column(column, runs)


def _runs(cells: Iterable[Cell], grid: str, where: Where) -> list[RunSpec]:
    return [cell.run for cell in cells if cell.grid == grid and matches(cell.coords, where)]


def _refuse_same_runs(paper: Paper, cells: Sequence[Cell]) -> None:
    """Refuse levels of an axis that stand for the same runs wherever both stand.

    Such as those of a template without '$': their rows would be equal, and claims would compare
    runs with themselves. Single points may be the same run, as where two scalings of one size meet
    at a parameter of 0. A scale may put one data set in the place of two: the paper decides.
    """
    for key, grid in paper.grids.items():
        of_grid = [(cell.coords, cell.seed, cell.run_id) for cell in cells if cell.grid == key]
        for axis in grid.axes:
            runs = _by_level(axis, of_grid)
            for place, first in enumerate(runs, 1):
                same = [
                    level
                    for level in [*runs][place:]
                    if _alike(runs[first], runs[level])
                    and _alike(*_by_level(axis, _written(paper, grid, axis, first, level)).values())
                ]
                if same:
                    levels = ", ".join(level_text(x) for x in (first, *same))
                    raise FedbenchError(
                        f"grids.{key}.axes.{axis}: the levels {levels} are the same runs; what a "
                        "level sets must depend on it (in a template by '$') and have an effect"
                    )


def _written(paper: Paper, grid: Grid, axis: str, *levels: Level) -> Iterator[_Place]:
    """The points of a grid at some levels of an axis, with the runs before a scale cuts them."""
    for point in points(grid):
        if point[axis] in levels:
            yield point, 0, RunSpec(**resolve(paper, grid, point)).id


def _by_level(axis: str, places: Iterable[_Place]) -> dict[Level, dict[str, str]]:
    """By level of the axis, the ids of runs by the levels on all other axes and the seed."""
    runs: dict[Level, dict[str, str]] = {}
    for coords, seed, run_id in places:
        beside = [level for name, level in coords.items() if name != axis]
        runs.setdefault(coords[axis], {})[str([*beside, seed])] = run_id
    return runs


def _alike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether both have the same runs at all points that both have, of which there are some."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[point] == other[point] for point in shared)
