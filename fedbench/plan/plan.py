"""From papers and a scale to the runs that must be trained.

A cell is one point of a paper's grid with one seed. Cells with the same settings share one run,
whichever tables, figures or papers they belong to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedbench.base.errors import at
from fedbench.base.plugins import find_file
from fedbench.paper.names import kept_claims
from fedbench.paper.paper import Paper, load_papers
from fedbench.paper.places import Level, Where
from fedbench.paper.scale import Cut, cut, load_scale
from fedbench.plan.points import matches, points
from fedbench.plan.resolved import printed_choices, resolve
from fedbench.plan.scale_checks import check_scale, check_tables
from fedbench.plan.search import search_id, trial_runs
from fedbench.plan.substitutions import LeftOut, Substitutions, substitutions
from fedbench.plan.substitutions import left_out as left_out_of
from fedbench.spec import RunSpec


@dataclass(frozen=True)
class Cell:
    """One point of a grid with one seed: its level on each axis, and its run."""

    paper: str
    grid: str
    coords: dict[str, Level]
    seed: int
    run: RunSpec
    substituted: Substitutions  # in what the run differs from the paper's experiment

    @cached_property
    def run_id(self) -> str:
        """The id of its run, worked out once: it is a checksum of all settings."""
        return self.run.id


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
    asked: dict[str, Paper]  # the same, but with no other tables and claims than were asked for

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


def make_plan(
    workflow: Path, scale: str, papers: tuple[str, ...] = (), tables: tuple[str, ...] = ()
) -> Plan:
    """The plan of some papers at a scale; `tables` leaves only what these tables and figures need.

    Raises `FedbenchError` naming the file, field and value on any bad input; imports no torch.
    """
    everything = load_papers(workflow, papers)
    cuts = load_scale(workflow, scale)
    check_scale(workflow, scale, cuts, everything)
    asked = {name: only(name, paper, tables or None) for name, paper in everything.items()}
    check_tables(asked, tables)
    kept = {name: only(name, paper, cuts.of(name).keep) for name, paper in asked.items()}
    cells = [
        cell
        for name, paper in kept.items()
        for cell in _cells(workflow, name, paper, cuts.of(name))
    ]
    chosen = {name: _shown(name, paper, cells) for name, paper in kept.items()}
    left_out = {n: left_out_of(paper, chosen[n], cuts.of(n)) for n, paper in asked.items()}
    runs = {cell.run_id: cell.run for cell in cells}
    searches = {run_id: search_id(run) for run_id, run in runs.items() if run.tune}
    trials = {search: _trials(runs[run_id]) for run_id, search in searches.items()}
    for specs in trials.values():
        runs |= {trial.id: trial for trial in specs}
    names = {search: [trial.id for trial in specs] for search, specs in trials.items()}
    return Plan(
        chosen, scale, cuts.about, cells, runs, searches, names, left_out, everything, asked
    )


def _shown(name: str, paper: Paper, cells: Iterable[Cell]) -> Paper:
    """The paper without the tables and figures of which a scale leaves no point."""
    there = {(cell.grid, tuple(cell.coords.items())) for cell in cells if cell.paper == name}
    empty = {
        key
        for key, item in paper.items()
        if not any(grid == item.grid and matches(dict(point), item.where) for grid, point in there)
    }
    tables = {key: table for key, table in paper.tables.items() if key not in empty}
    figures = {key: figure for key, figure in paper.figures.items() if key not in empty}
    claims = kept_claims(paper.claims, {*tables}, {*paper.grids})
    return paper.model_copy(update={"tables": tables, "figures": figures, "claims": claims})


def _trials(run: RunSpec) -> list[RunSpec]:
    with at(f"the search of run {run.id}"):
        return trial_runs(run)


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
    with at(place):
        settings = resolve(paper, grid, coords)
        printed = RunSpec(**settings)
        small = RunSpec(**cut(printed_choices(settings), by))
    difference = substitutions(printed, small)
    for seed in grid.seeds[
        : by.most_seeds(names[1], coords)
    ]:  # its values are checked, as all others of `small` are
        yield Cell(*names, coords, seed, small.model_copy(update={"seed": seed}), difference)
