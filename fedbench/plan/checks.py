"""Refuses, before anything is trained, a plan whose tables, figures or claims lack values."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, require_among
from fedbench.base.plugins import files_by_name, find_file
from fedbench.paper.claims import SingleClaim, Together, Trend
from fedbench.paper.grid_points import matches, points, printed_choices, resolve
from fedbench.paper.metrics import require_column
from fedbench.paper.name_checks import check_where
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import check_printed, printed_numbers
from fedbench.paper.scale import Cut, Numbers, Scale, worded
from fedbench.paper.tables_and_figures import Axes, Figure
from fedbench.paper.yaml_notation import Level, Where, as_tuple, level_text, reading
from fedbench.plan.cells import Cell
from fedbench.plan.search import scored, trial_runs
from fedbench.spec import LISTED, NAMED, RunSpec

_KINDS = {**{name: name for name in NAMED}, **LISTED}  # the setting → the kind of what it names
_OF_EVERY_RUN = ("clients", "rounds")  # tables that every run folder has
_Place = tuple[dict[str, Level], int, str]  # a point of a grid, a seed, and the run's id


def check_scale(
    workflow: Path, name: str, scale: Scale, papers: dict[str, Paper], tables: tuple[str, ...]
) -> None:
    """Refuse a scale, or a selection of `tables`, that names what these papers have not.

    What it says of other papers, or of all papers, is not checked without them.
    """
    files = files_by_name(workflow / "papers", "*.yaml")
    file = find_file(workflow / "scales", f"{name}.yaml")
    _check_names(str(file), scale)
    if papers.keys() >= files.keys():
        _check_levels(f"{file}: levels", {**scale.levels}, papers.values())
        for case in scale.seed_cases:
            _check_levels(f"{file}: seed_cases.where", case.where, papers.values())
    for paper, by in scale.papers.items():
        place = f"{file}: papers.{paper}"
        require_among(f"{file}: papers", "paper", paper, files)
        _check_names(place, by)
        if paper in papers:
            _check_cut(place, by, papers[paper])
    keys = [f"{name}/{key}" for name, paper in papers.items() for key, _ in paper.everything()]
    named = {*keys, *(key.partition("/")[2] for key in keys)}
    for table in tables:
        require_among("tables", f"table or figure of {', '.join(papers)}", table, named)


def _check_cut(place: str, by: Cut, paper: Paper) -> None:
    _check_levels(f"{place}.levels", {**by.levels}, [paper])
    places = [(key, coords) for key, grid in paper.grids.items() for coords in points(grid)]
    for case in by.seed_cases:
        if not any(case.means(*each) for each in places):
            told = f"no point of {worded(case.where)} in {', '.join(case.grids) or 'any grid'}"
            raise FedbenchError(f"{place}.seed_cases: {told}")
    runs = [printed_choices(resolve(paper, paper.grids[key], at)) for key, at in places]
    for few in by.cases:  # one that means no run, as a misspelt name would
        if not any(few.means(run) for run in runs):
            raise FedbenchError(f"{place}.cases: no run of the paper has {worded(few.where)}")
    keys = [key for key, _ in paper.everything()]
    for key in by.keep or ():
        require_among(f"{place}.keep", "table or figure", key, keys)


def _check_names(place: str, by: Cut) -> None:
    """Refuse the name of a setting, or of what a setting names, that nothing has in any paper."""
    for each in (by, *by.cases):
        _check_settings(place, {field: getattr(each, field) for field in Numbers.model_fields})
    for field, replacements in by.substitutes.items():
        require_among(f"{place}: substitutes", "kind", field, _KINDS.keys() - {"shift"})
        with at(f"{place}: substitutes.{field}"):
            for name, other in replacements.items():
                registry.find(_KINDS[field], name)
                registry.require_known(_KINDS[field], other.name, other.params)
    for case in by.cases:
        _check_settings(place, {"cases.where": [name.partition(".")[0] for name in case.where]})
        for field in [name for name in case.where if name in _KINDS]:
            with at(f"{place}: cases.where.{field}"):
                for level in as_tuple(case.where[field]):
                    registry.find(_KINDS[field], str(level))


def _check_settings(place: str, named: Mapping[str, Iterable[str]]) -> None:
    for field, names in named.items():
        for name in names:
            require_among(f"{place}: {field}", "setting", name, RunSpec.model_fields)


def _check_levels(place: str, chosen: Where, papers: Iterable[Paper]) -> None:
    """Refuse an axis or a level that no grid of these papers has."""
    axes: Axes = {}
    for grid in [grid for paper in papers for grid in paper.grids.values()]:
        for axis, levels in grid.axes.items():
            axes[axis] = axes.get(axis, ()) + levels
    check_where(place, chosen, axes)


def check_paper(
    file: Path, whole: Paper, shown: Paper, cells: Sequence[Cell], searches: Mapping[str, str]
) -> None:
    """Refuse a paper, as `whole` in its file, of which `shown` asks for what no cell will have."""
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

    Single points may be the same run, and a scale may put one data set in the place of two.
    """
    for key, grid in paper.grids.items():
        of_grid = [(cell.coords, cell.seed, cell.run_id) for cell in cells if cell.grid == key]
        for axis in grid.axes:
            cut = _same(axis, of_grid)
            levels = {*cut, *itertools.chain.from_iterable(cut.values())}
            whole = [point for point in points(grid) if point[axis] in levels]
            runs = ((point, 0, RunSpec(**resolve(paper, grid, point)).id) for point in whole)
            for first, others in _same(axis, runs).items():
                if same := [level for level in others if level in cut.get(first, ())]:
                    told = ", ".join(map(level_text, (first, *same)))
                    raise FedbenchError(
                        f"grids.{key}.axes.{axis}: the levels {told} are the same runs; what a "
                        "level sets must depend on it (in a template by '$') and have an effect"
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
