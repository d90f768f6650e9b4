"""From papers and a scale to the runs that must be trained.

A cell is one point of a paper's grid with one seed. Cells with the same settings share one run,
whichever tables, figures or papers they belong to.
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.plugins import files_by_name, find_file
from fedbench.paper.items import Facts, Figure, Grid, Table
from fedbench.paper.levels import (
    Settings,
    assigned,
    layered,
    level_settings,
    parts_of,
    with_main_parameter,
)
from fedbench.paper.named import spelled_out
from fedbench.paper.names import kept_claims
from fedbench.paper.paper import Paper, load_papers
from fedbench.paper.places import Level, Where
from fedbench.paper.scale import Cut, Scale, SeedCase, cut, load_scale
from fedbench.plan.search import search_id, trial_runs
from fedbench.spec import Choice, RunSpec

# Settings that do not make a run another experiment than the paper's; all others do.
_INCIDENTAL = {"seed", "data_seed", "tune", "eval_every", "watch", "validation"}


@dataclass(frozen=True)
class Cell:
    """One point of a grid with one seed: its level on each axis, and its run."""

    paper: str
    grid: str
    coords: dict[str, Level]
    seed: int
    run: RunSpec
    substituted: str  # how the run differs from the paper's experiment; '' if it does not

    @cached_property
    def run_id(self) -> str:
        """The id of its run, worked out once: it is a checksum of all settings."""
        return self.run.id


@dataclass(frozen=True)
class LeftOut:
    """What a scale leaves out of a paper: titles of tables and figures, and levels by axis."""

    items: tuple[str, ...]
    levels: dict[str, tuple[Level, ...]]

    def words(self) -> str:
        """All of it in one line; empty if nothing is left out."""
        levels = [f"{axis} {level}" for axis, gone in self.levels.items() for level in gone]
        return "; ".join([*self.items, *levels])


@dataclass(frozen=True)
class Plan:
    """The papers at one scale, all their cells, and the runs to train by id."""

    papers: dict[str, Paper]
    scale: str
    about: str
    cells: list[Cell]
    runs: dict[str, RunSpec]
    searches: dict[str, str]  # id of a run that has a search → id of the search
    trials: dict[str, list[str]]  # id of a search → ids of its trial runs
    left_out: dict[str, LeftOut]  # by paper, what the scale leaves out
    whole: dict[str, Paper]  # the papers as in their files, with nothing left out

    def needed(self, cells: Iterable[Cell]) -> list[str]:
        """The ids of the runs of some cells, each once, and of the trials of their searches."""
        runs = dict.fromkeys(cell.run_id for cell in cells)
        searches = {self.searches[run_id] for run_id in runs if run_id in self.searches}
        trials = {trial for search in searches for trial in self.trials[search]}
        return [*runs, *sorted(trials - runs.keys())]

    def select(self, paper: str, grid: str, where: Where) -> list[Cell]:
        """The cells of a paper's grid at the levels that `where` names."""
        of_grid = [cell for cell in self.cells if cell.paper == paper and cell.grid == grid]
        return [cell for cell in of_grid if matches(cell.coords, where)]


def matches(coords: dict[str, Level], where: Where) -> bool:
    """Whether the point `coords` has the level that `where` names on an axis, or one of several."""
    return all(
        coords[axis] in (wanted if isinstance(wanted, tuple) else (wanted,))
        for axis, wanted in where.items()
    )


def make_plan(
    workflow: Path, scale: str, papers: tuple[str, ...] = (), tables: tuple[str, ...] = ()
) -> Plan:
    """The plan of some papers at a scale; `tables` leaves only what these tables and figures need.

    Raises `FedbenchError` naming the file, field and value on any bad input; imports no torch.
    """
    everything = load_papers(workflow, papers)
    cuts = load_scale(workflow, scale)
    _check_scale(workflow, scale, cuts, everything)
    asked = {name: only(name, paper, tables or None) for name, paper in everything.items()}
    _check_tables(asked, tables)
    left_out = {name: _left_out(paper, cuts.of(name)) for name, paper in asked.items()}
    chosen = {name: only(name, paper, cuts.of(name).keep) for name, paper in asked.items()}
    cells = [
        cell
        for name, paper in chosen.items()
        for cell in _cells(workflow, name, paper, cuts.of(name))
    ]
    runs = {cell.run_id: cell.run for cell in cells}
    searches = {run_id: search_id(run) for run_id, run in runs.items() if run.tune}
    trials = {search: _trials(runs[run_id]) for run_id, search in searches.items()}
    for specs in trials.values():
        runs |= {trial.id: trial for trial in specs}
    names = {search: [trial.id for trial in specs] for search, specs in trials.items()}
    return Plan(chosen, scale, cuts.about, cells, runs, searches, names, left_out, everything)


def _trials(run: RunSpec) -> list[RunSpec]:
    with _at(f"the search of run {run.id}"):
        return trial_runs(run)


def _left_out(paper: Paper, by: Cut) -> LeftOut:
    kept = by.keep
    titles = [
        item.title for key, item in _everything(paper) if kept is not None and key not in kept
    ]
    points_out = [case.words() for case in by.seed_cases if not case.seeds]
    axes: dict[str, list[Level]] = {}
    for grid in paper.grids.values():
        for axis, levels in grid.axes.items():
            gone = [x for x in levels if axis in by.levels and x not in by.levels[axis]]
            axes.setdefault(axis, []).extend(gone)
    return LeftOut(
        (*titles, *points_out), {k: tuple(dict.fromkeys(v)) for k, v in axes.items() if v}
    )


def _everything(paper: Paper) -> list[tuple[str, Table | Figure | Facts]]:
    return [*paper.items(), *paper.facts.items()]


def only(name: str, paper: Paper, tables: tuple[str, ...] | None) -> Paper:
    """The paper with only the tables and figures named ('table1' or 'rmfl/table1')."""
    if tables is None:
        return paper
    wanted = {table.removeprefix(f"{name}/") for table in tables}
    kept = {k: v for k, v in paper.tables.items() if k in wanted}
    drawn = {k: v for k, v in paper.figures.items() if k in wanted}
    facts = {k: v for k, v in paper.facts.items() if k in wanted}
    grids = {item.grid for item in kept.values()} | {item.grid for item in drawn.values()}
    needed = {k: v for k, v in paper.grids.items() if k in grids}
    claims = kept_claims(paper.claims, {*kept}, {*needed})
    fields = {"tables": kept, "figures": drawn, "facts": facts, "grids": needed, "claims": claims}
    return paper.model_copy(update=fields)


def _check_tables(papers: dict[str, Paper], tables: tuple[str, ...]) -> None:
    pairs = [(name, key) for name, paper in papers.items() for key, _ in _everything(paper)]
    names = {key for _, key in pairs} | {f"{name}/{key}" for name, key in pairs}
    for table in tables:
        if table not in names:
            raise FedbenchError(f"tables: no table or figure '{table}' in {', '.join(papers)}")


def _check_scale(workflow: Path, name: str, scale: Scale, papers: dict[str, Paper]) -> None:
    files = files_by_name(workflow / "papers", "*.yaml")
    for paper, by in scale.papers.items():
        place = f"{find_file(workflow / 'scales', f'{name}.yaml')}: papers.{paper}"
        if paper not in files:
            raise FedbenchError(f"{place}: no such paper")
        if paper not in papers:
            continue
        _check_seed_cases(f"{place}.seed_cases", by.seed_cases, papers[paper])
        if by.keep:
            keys = [key for key, _ in _everything(papers[paper])]
            for key in by.keep:
                if key not in keys:
                    raise FedbenchError(f"{place}.keep: {unknown('table or figure', key, keys)}")


def _check_seed_cases(place: str, cases: tuple[SeedCase, ...], paper: Paper) -> None:
    everywhere = [(key, coords) for key, grid in paper.grids.items() for coords in points(grid)]
    for case in cases:
        if not any(case.means(*point) for point in everywhere):
            raise FedbenchError(f"{place}: no grid of the paper has a point of {case.words()}")


def _cells(workflow: Path, name: str, paper: Paper, by: Cut) -> Iterator[Cell]:
    file = find_file(workflow / "papers", f"{name}.yaml")
    for key, grid in paper.grids.items():
        for coords in points(grid):
            if not matches(coords, {k: v for k, v in by.levels.items() if k in coords}):
                continue
            place = f"{file}: grids.{key} at {coords}"
            yield from _seeded(place, (name, key), paper, coords, by)


def _seeded(
    place: str, names: tuple[str, str], paper: Paper, coords: dict[str, Level], by: Cut
) -> Iterator[Cell]:
    grid = paper.grids[names[1]]
    with _at(place):
        settings = resolve(paper, grid, coords)
        printed = RunSpec(**settings)
        small = RunSpec(**cut(printed_choices(settings), by))
    difference = substituted(printed, small)
    for seed in grid.seeds[
        : by.most_seeds(names[1], coords)
    ]:  # its values are checked, as all others of `small` are
        yield Cell(*names, coords, seed, small.model_copy(update={"seed": seed}), difference)


def printed_choices(settings: Settings) -> Settings:
    """Settings with the default data set, model and partition filled in, for a cut to replace."""
    defaults = {
        kind: RunSpec.model_fields[kind].default for kind in ("dataset", "model", "partition")
    }
    return {kind: dict(choice) for kind, choice in defaults.items()} | settings


def points(grid: Grid) -> list[dict[str, Level]]:
    """Every combination of levels that the grid has, in order; the last axis changes first."""
    everything = [
        dict(zip(grid.axes, levels, strict=True))
        for levels in itertools.product(*grid.axes.values())
    ]
    return [p for p in everything if not any(matches(p, where) for where in grid.without)]


def resolve(paper: Paper, grid: Grid, coords: dict[str, Level]) -> Settings:
    """The settings of paper, levels, grid and cases at a point; later ones win."""
    levels = [level_settings(paper.levels, axis, level) for axis, level in coords.items()]
    settings = layered([spelled_out(paper.settings), *levels, spelled_out(grid.settings)])
    for case in grid.cases:
        if matches(coords, case.where):
            settings = assigned(settings, spelled_out(case.settings).items())
    if grid.main_parameters:
        settings = with_main_parameter(settings, coords.get("method"))
    return _with_common(paper.always, settings)


def _with_common(always: tuple[Choice, ...], settings: Settings) -> Settings:
    """Put the parts in `always` before those of the run and of its search's trials."""
    joined = settings | {"parts": [*always, *parts_of(settings)]}
    match joined.get("tune"):
        case {"trials": {"parts": _} as trials}:
            joined["tune"] = joined["tune"] | {"trials": _with_common(always, spelled_out(trials))}
    return joined


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Put the place in front of every error raised in the block."""
    try:
        yield
    except FedbenchError as error:
        raise FedbenchError(f"{place}: {error}") from None


def substituted(printed: RunSpec, small: RunSpec) -> str:
    """How the run at this scale differs from the paper's experiment, in words."""
    fields = [field for field in RunSpec.model_fields if field not in _INCIDENTAL]
    changed = [field for field in fields if getattr(small, field) != getattr(printed, field)]
    searched = printed.tune.grid if printed.tune else {}
    was = {field: _show(getattr(printed, field)) for field in changed}
    was |= {field: f"the best of {len(searched[field])}" for field in changed if field in searched}
    return "; ".join(
        f"{field} {_show(getattr(small, field))} for {was[field]}" for field in changed
    )


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " + ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value is not None else "none"
