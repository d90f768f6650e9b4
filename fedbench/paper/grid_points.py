"""The points of papers' grids, the settings of each, and what a scale changes or leaves out."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fedbench.base.errors import FedbenchError, at, require_among
from fedbench.base.grouping import grouped
from fedbench.paper.axis_levels import Settings, layered, level_settings, with_main_values
from fedbench.paper.name_checks import check_where
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, Scale, SeedCase, cut, worded
from fedbench.paper.tables_and_figures import Axes, Grid
from fedbench.paper.yaml_notation import Level, Where, as_tuple, level_text
from fedbench.spec import NAMED, Choice, RunSpec
from fedbench.spec.compositions import parts_of, spelled_out

Coords = dict[str, Level]  # a point's level on each axis
# Settings that do not make a run another experiment than the paper's; all others do.
_INCIDENTAL = {"seed", "data_seed", "tune", "eval_every", "watch"}


@dataclass(frozen=True)
class Substitution:
    """A setting in which a run differs from the paper's experiment."""

    setting: str
    here: str = ""  # empty where nothing but the search is left out
    paper: str = ""
    tried: int = 0  # how many values the paper's search tries, where `paper` is empty


Substitutions = tuple[Substitution, ...]


@dataclass(frozen=True)
class Cell:
    """One point of a grid with one seed: its level on each axis, and its run."""

    paper: str
    grid: str
    coords: Coords
    seed: int
    run: RunSpec
    substituted: Substitutions  # in what the run differs from the paper's experiment

    @property
    def run_id(self) -> str:
        """The id of its run."""
        return self.run.id


def matches(coords: Coords, where: Where) -> bool:
    """Whether the point `coords` has the level that `where` names on an axis, or one of several."""
    return all(coords[axis] in as_tuple(wanted) for axis, wanted in where.items())


def points(grid: Grid) -> list[Coords]:
    """Every combination of levels that the grid has, in order; the last axis changes first."""
    combined = itertools.product(*grid.axes.values())
    everything = [dict(zip(grid.axes, levels, strict=True)) for levels in combined]
    return [p for p in everything if not any(matches(p, where) for where in grid.without)]


class Point(NamedTuple):
    """A point of a grid: its level on each axis, and the paper's settings there."""

    grid: str
    coords: Coords
    settings: Settings


def expanded(file: Path, paper: Paper) -> list[Point]:
    """All points of a paper's grids; raises `FedbenchError` on settings that do not fit.

    Also on a table, figure or case that means no point.
    """
    found = []
    meant = [(key, item.grid, item.where) for key, item in paper.items()]
    for key, grid in paper.grids.items():
        meant += [(f"grids.{key}.cases", key, case.where) for case in grid.cases]
        for coords in points(grid):
            with at(f"{file}: grids.{key} at {coords}"):
                found.append(Point(key, coords, resolve(paper, grid, coords)))
    for place, key, where in meant:
        if not any(point.grid == key and matches(point.coords, where) for point in found):
            told = f"`without` leaves no point of the grid '{key}' for {worded(where) or 'it'}"
            raise FedbenchError(f"{file}: {place}: {told}")
    return found


def resolve(paper: Paper, grid: Grid, coords: Coords) -> Settings:
    """The settings of paper, levels, grid and cases at a point; later ones win."""
    levels = [level_settings(paper.levels, axis, level) for axis, level in coords.items()]
    settings = layered([spelled_out(paper.settings), *levels, spelled_out(grid.settings)])
    for case in grid.cases:
        if matches(coords, case.where):
            settings = layered([settings, spelled_out(case.settings)])
    if grid.main_parameters:
        settings = with_main_values(settings, coords.get("method"))
    return _with_common(paper.always, settings)


def _with_common(always: tuple[Choice, ...], settings: Settings) -> Settings:
    """The parts in `always` before those of the run and of its search's trials."""
    joined = settings | {"parts": [*always, *parts_of(settings)]}
    match joined.get("tune"):
        case {"trials": {"parts": _} as trials}:
            joined["tune"] = joined["tune"] | {"trials": _with_common(always, spelled_out(trials))}
    return joined


def printed_choices(settings: Settings) -> Settings:
    """Settings with the defaults of numbers and of choices of one name, for a cut to change."""
    usual = {name: field.default for name, field in RunSpec.model_fields.items()}
    numbers = {name: x for name, x in usual.items() if isinstance(x, int | float)}
    return numbers | {kind: dict(usual[kind]) for kind in NAMED} | settings


def cells_of(file: Path, paper: Paper, by: Cut, points: Iterable[Point]) -> Iterator[Cell]:
    """The cells of those points of a paper, written in `file`, that are run at a scale."""
    for key, coords, settings in [point for point in points if point.grid in paper.grids]:
        if not matches(coords, {axis: by.levels[axis] for axis in by.levels if axis in coords}):
            continue
        with at(f"{file}: grids.{key} at {coords}"):
            printed = RunSpec(**settings)  # whether a number is whole follows from its setting
            numbers = {k: x for k, x in printed if k in settings and isinstance(x, int | float)}
            with at("as the scale has it"):
                small = RunSpec(**cut(printed_choices(settings) | numbers, by))
        difference = substitutions(printed, small)
        few = [case.seeds for case in by.seed_cases if case.means(key, coords)]
        # the values of a seed are checked, as all others of `small` are
        for seed in paper.grids[key].seeds[: few[-1] if few else by.seeds]:
            run = small.model_copy(update={"seed": seed})
            yield Cell(file.stem, key, coords, seed, run, difference)


def check_scale(
    file: Path,
    scale: Scale,
    papers: dict[str, Paper],
    points: dict[str, list[Point]],
    known: set[str],
) -> None:
    """Refuse a scale that names what these papers, of all that are `known`, have not.

    What it says of other papers, or of all papers, is not checked without them. points: of all
    grids of each paper.
    """
    if papers.keys() >= known:
        _check_names(f"{file}: ", scale, papers.values())
    for name, by in scale.papers.items():
        require_among(f"{file}: papers", "paper", name, known)
        if paper := papers.get(name):
            place = f"{file}: papers.{name}."
            _check_names(place, by, [paper])
            _check_cases(place, by, points[name])


def _axes(papers: Iterable[Paper]) -> Axes:
    """The levels of each axis in all grids."""
    axes: Axes = {}
    for grid in [grid for paper in papers for grid in paper.grids.values()]:
        for axis, levels in grid.axes.items():
            axes[axis] = axes.get(axis, ()) + levels
    return axes


def _check_names(place: str, by: Cut, papers: Collection[Paper]) -> None:
    """Refuse axes, levels, grids, tables and figures that none of the papers has."""
    axes, grids = _axes(papers), [grid for paper in papers for grid in paper.grids]
    for case in by.seed_cases:
        check_where(f"{place}seed_cases.where", case.where, axes)
        for grid in case.grids:
            require_among(f"{place}seed_cases.grids", "grid", grid, grids)
    check_where(f"{place}levels", by.levels, axes)
    every = {key for paper in papers for key, _ in paper.everything()}
    for key in by.keep or ():
        require_among(f"{place}keep", "table or figure", key, every)


def _check_cases(place: str, by: Cut, points: Sequence[Point]) -> None:
    """Refuse cases that mean no point, or no run."""
    for case in by.seed_cases:
        if not any(case.means(point.grid, point.coords) for point in points):
            told = f"no point of {worded(case.where)} in {', '.join(case.grids) or 'any grid'}"
            raise FedbenchError(f"{place}seed_cases: {told}")
    runs = [printed_choices(point.settings) for point in points]
    for few in by.cases:  # one that means no run, as a misspelt name would
        if not any(few.means(run) for run in runs):
            raise FedbenchError(f"{place}cases: no run of the paper has {worded(few.where)}")


@dataclass(frozen=True)
class LeftOut:
    """What a scale leaves out: tables and figures, points of others, and levels by axis."""

    items: list[tuple[str, list[str]]]  # titles, and what versions that are shown add to them
    points: list[tuple[str, list[str]]]  # in words, and the titles of what would show them
    levels: dict[str, tuple[Level, ...]]
    about: str  # what the scale's file says of it
    axes: dict[str, str]  # what the paper's file says of some axes

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        return bool(self.items or self.points or self.levels)


def left_out(paper: Paper, chosen: Paper, by: Cut) -> LeftOut:
    """What is left of a paper that the cut does not choose."""
    kept = dict(chosen.everything())
    items = []
    for title in [item.title for key, item in paper.everything() if key not in kept]:
        alike = [x.title for x in kept.values() if x.title.startswith((f"{title} ", f"{title}, "))]
        items.append((title, [longer.removeprefix(title).lstrip(", ") for longer in alike]))
    told = _points(paper, chosen, by.seed_cases)
    gone = {
        axis: tuple(dict.fromkeys(x for x in levels if x not in by.levels[axis]))
        for axis, levels in _axes([paper]).items()
        if axis in by.levels
    }
    levels = {axis: levels for axis, levels in gone.items() if levels}
    return LeftOut(items, told, levels, by.about, paper.axes)


def _points(paper: Paper, chosen: Paper, cases: Sequence[SeedCase]) -> list[tuple[str, list[str]]]:
    """The points that have no seed, in words, and the titles of what is chosen and shows them."""
    places, told = {key: points(grid) for key, grid in paper.grids.items()}, []
    for case in [each for each in cases if not each.seeds]:
        lost = {
            key: [at for at in of if [x for x in cases if x.means(key, at)][-1:] == [case]]
            for key, of in places.items()
        }
        shown_by = {k for k, x in paper.items() for at in lost[x.grid] if matches(at, x.where)}
        titles = [item.title for key, item in chosen.items() if key in shown_by]
        # Where no table is left that would show the points, the tables' own titles are in the list.
        if any(lost.values()) and (titles or not shown_by):
            told.append((worded(case.where), titles))
    return told


def by_setting(cells: Iterable[Cell], name: Callable[[Cell], str]) -> dict[str, list[Cell]]:
    """Cells by their setting's name, and by grid too where grids have other runs at one point."""
    found: dict[str, list[Cell]] = {}
    for setting, alike in grouped(cells, name).items():
        at = {(str(cell.coords.get("method")), cell.seed) for cell in alike}
        one_run_each = len(at) == len({cell.run_id for cell in alike})
        for cell in alike:
            key = setting if one_run_each else f"{setting} ({cell.grid})"
            found.setdefault(key, []).append(cell)
    return found


def substitutions(printed: RunSpec, small: RunSpec) -> Substitutions:
    """In which settings the run at this scale differs, if only in not being searched."""
    fields = [field for field in RunSpec.model_fields if field not in _INCIDENTAL]
    searched = {k: len(tried) for k, tried in printed.tune.grid.items()} if printed.tune else {}
    found = []
    for field in fields:
        here, there = getattr(small, field), getattr(printed, field)
        if here != there and not (small.tune and field in small.tune.grid):
            said = "" if field in searched else _text(there)
            found.append(Substitution(field, _text(here), said, searched.get(field, 0)))
    known = {each.setting for each in found}.union(small.tune.grid if small.tune else ())
    return (*found, *(Substitution(k, tried=n) for k, n in searched.items() if k not in known))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " + ".join(str(part) for part in value) or "none"
    return "none" if value is None else level_text(value)


def merged(found: Iterable[Substitutions]) -> Substitutions:
    """All of them once, those of one setting next to each other."""
    of_setting = grouped((one for some in found for one in some), lambda one: one.setting)
    return tuple(dict.fromkeys(one for each in of_setting.values() for one in each))
