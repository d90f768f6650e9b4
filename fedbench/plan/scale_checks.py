"""Refuses a scale, or a selection of tables, that names what its papers do not have."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, unknown
from fedbench.base.plugins import files_by_name, find_file
from fedbench.paper.items import Facts, Figure, Table
from fedbench.paper.names import no_level
from fedbench.paper.paper import Paper
from fedbench.paper.places import Level, as_tuple
from fedbench.paper.scale import Cut, Scale, ScaleCase, SeedCase
from fedbench.plan.points import points
from fedbench.plan.resolved import printed_choices, resolve

_KINDS = {  # the setting → the kind of what it names
    **{name: name for name in ("dataset", "model", "partition", "sampler")},
    **{"parts": "method", "watch": "probe"},
}


def everything_of(paper: Paper) -> list[tuple[str, Table | Figure | Facts]]:
    """Its tables, figures and facts by their keys."""
    return [*paper.items(), *paper.facts.items()]


def check_tables(papers: dict[str, Paper], tables: tuple[str, ...]) -> None:
    """Refuse a selection that names no table or figure of these papers."""
    pairs = [(name, key) for name, paper in papers.items() for key, _ in everything_of(paper)]
    names = {key for _, key in pairs} | {f"{name}/{key}" for name, key in pairs}
    for table in tables:
        if table not in names:
            raise FedbenchError(f"tables: no table or figure '{table}' in {', '.join(papers)}")


def check_scale(workflow: Path, name: str, scale: Scale, papers: dict[str, Paper]) -> None:
    """Refuse a scale that names a paper, table, figure, level, point or run that there is not.

    What it says of papers that are not among these, or of all papers, is not checked without them.
    """
    files = files_by_name(workflow / "papers", "*.yaml")
    file = find_file(workflow / "scales", f"{name}.yaml")
    _check_names(str(file), scale)
    if papers.keys() >= files.keys():
        _check_levels(f"{file}: levels", scale.levels, papers.values())
        for case in scale.seed_cases:
            wanted = {axis: as_tuple(levels) for axis, levels in case.where.items()}
            _check_levels(f"{file}: seed_cases.where", wanted, papers.values())
    for paper, by in scale.papers.items():
        place = f"{file}: papers.{paper}"
        if paper not in files:
            raise FedbenchError(f"{place}: no such paper")
        _check_names(place, by)
        if paper in papers:
            _check_cut(place, by, papers[paper])


def _check_cut(place: str, by: Cut, paper: Paper) -> None:
    """Refuse a cut of one paper that names what this paper does not have."""
    _check_levels(f"{place}.levels", by.levels, [paper])
    _check_seed_cases(f"{place}.seed_cases", by.seed_cases, paper)
    _check_cases(f"{place}.cases", by.cases, paper)
    keys = [key for key, _ in everything_of(paper)]
    for key in by.keep or ():
        if key not in keys:
            raise FedbenchError(f"{place}.keep: {unknown('table or figure', key, keys)}")


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
    place: str, chosen: Mapping[str, Sequence[Level]], papers: Iterable[Paper]
) -> None:
    """Refuse an axis or a level that no grid of these papers has."""
    axes: dict[str, list[Level]] = {}
    for grid in [grid for paper in papers for grid in paper.grids.values()]:
        for axis, levels in grid.axes.items():
            axes.setdefault(axis, []).extend(levels)
    for axis, wanted in chosen.items():
        if axis not in axes:
            raise FedbenchError(f"{place}: {unknown('axis', axis, axes)}")
        for level in wanted:
            if level not in axes[axis]:
                error = no_level(level, axes[axis], f"level of {axis}")
                raise FedbenchError(f"{place}: {error}")


def _check_seed_cases(place: str, cases: tuple[SeedCase, ...], paper: Paper) -> None:
    everywhere = [(key, coords) for key, grid in paper.grids.items() for coords in points(grid)]
    for case in cases:
        if not any(case.means(*point) for point in everywhere):
            raise FedbenchError(f"{place}: no grid of the paper has a point of {case.words()}")


def _check_cases(place: str, cases: tuple[ScaleCase, ...], paper: Paper) -> None:
    """Refuse a case that means no run of the paper, as a misspelt name would."""
    grids = paper.grids.values() if cases else ()
    runs = [printed_choices(resolve(paper, grid, at)) for grid in grids for at in points(grid)]
    for case in cases:
        if not any(case.means(run) for run in runs):
            raise FedbenchError(f"{place}: no run of the paper has {case.words()}")
