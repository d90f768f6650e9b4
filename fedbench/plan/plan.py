"""From papers and a scale to the runs that must be trained."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import at, require_among
from fedbench.base.files import read_text
from fedbench.base.grouping import grouped
from fedbench.base.plugins import find_file
from fedbench.base.yamlfile import split
from fedbench.paper.claims import Together
from fedbench.paper.grid_points import matches, points, printed_choices, resolve
from fedbench.paper.left_out import LeftOut, left_out
from fedbench.paper.paper import Paper, load_papers, with_rounds
from fedbench.paper.scale import Cut, Scale, cut, load_scale
from fedbench.paper.yaml_notation import Where
from fedbench.plan.cells import Cell as Cell
from fedbench.plan.cells import substitutions
from fedbench.plan.checks import check_paper, check_scale
from fedbench.plan.search import search_id, trial_runs
from fedbench.spec import RunSpec

# Runs by id, the search of each run that has one, and the trials of each search
Runs = tuple[dict[str, RunSpec], dict[str, str], dict[str, list[str]]]


@dataclass(frozen=True)
class Plan:
    """The papers at one scale, all their cells, and the runs to train; equal cells share a run."""

    scale: str
    cuts: Scale  # as its file says
    tables: tuple[str, ...]  # that were asked for; empty for all
    texts: dict[str, str]  # of the papers' files
    asked: dict[str, Paper]  # with no other tables and claims than were asked for
    papers: dict[str, Paper]  # these without what the scale leaves out
    left_out: dict[str, LeftOut]
    cells: list[Cell]
    runs: dict[str, RunSpec]  # by id
    searches: dict[str, str]  # id of a run that has a search → id of the search
    trials: dict[str, list[str]]  # id of a search → ids of its trial runs

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

    def of_items(self) -> dict[str, list[str]]:
        """The ids that each table and figure needs, by its paper's name and its own."""
        return {
            f"{name}/{key}": self.needed(self.select(name, item.grid, item.where))
            for name, paper in self.papers.items()
            for key, item in paper.items()
        }

    def of_paper(self, paper: str) -> dict[str, RunSpec]:
        """The runs of a paper's cells by their ids, trials of searches left out."""
        return {cell.run_id: cell.run for cell in self.cells if cell.paper == paper}

    def to_train(self, train: str) -> "Plan":
        """The plan of the runs to train: 'all', 'none', or those of methods between commas."""
        if train == "all":
            return self
        levels = {str(cell.coords["method"]) for cell in self.cells if "method" in cell.coords}
        names = _names(train, levels) if train != "none" else ()
        for name in names:
            require_among("", "method in this plan", name, levels)
        cells = [cell for cell in self.cells if str(cell.coords.get("method")) in names]
        ids = dict.fromkeys(self.needed(cells))
        searches = {run: search for run, search in self.searches.items() if run in ids}
        return replace(
            self,
            cells=cells,
            runs={run_id: self.runs[run_id] for run_id in ids},
            searches=searches,
            trials={search: self.trials[search] for search in searches.values()},
        )


def _names(train: str, levels: set[str]) -> tuple[str, ...]:
    """The names between the commas, the longest that fit: a method may be 'FedAvg, momentum'."""
    words, names = split(train), []
    while words:
        fitting = (n for n in range(len(words), 0, -1) if ", ".join(words[:n]) in levels)
        taken = next(fitting, 1)
        names.append(", ".join(words[:taken]))
        words = words[taken:]
    return tuple(names)


def make_plan(
    workflow: Path, scale: str, papers: tuple[str, ...] = (), tables: tuple[str, ...] = ()
) -> Plan:
    """The plan of some papers at a scale; `tables` leaves only what these tables and figures need.

    Raises `FedbenchError` naming the file, field and value on any bad input; imports no torch.
    """
    whole, cuts = load_papers(workflow, papers), load_scale(workflow, scale)
    check_scale(workflow, scale, cuts, whole, tables)
    files = {name: find_file(workflow / "papers", f"{name}.yaml") for name in whole}
    cells = [
        cell
        for name, paper in whole.items()
        for cell in _cells(files[name], name, _only(name, paper, tables or None), cuts.of(name))
    ]
    runs, searches, trials = _runs(cells)
    registry.require_extras(
        {(k, choice.name) for run in runs.values() for k, choice in run.choices()}
    )
    texts = {name: read_text(file) for name, file in files.items()}
    plan = assembled(whole, scale, cuts, tables, texts, cells, (runs, searches, trials))
    for name, file in files.items():
        of_paper = [cell for cell in cells if cell.paper == name]
        check_paper(file, whole[name], plan.papers[name], of_paper, searches)
    return plan


def assembled(
    whole: Mapping[str, Paper],
    scale: str,
    cuts: Scale,
    tables: tuple[str, ...],
    texts: dict[str, str],
    cells: list[Cell],
    runs: Runs,
) -> Plan:
    """The plan of these cells: what is asked for of whole papers, and what the scale leaves."""
    asked, shown = dict[str, Paper](), dict[str, Paper]()
    of_paper = grouped(cells, lambda cell: cell.paper)
    for name, paper in whole.items():
        own = of_paper.get(name, [])
        by_grid = grouped(own, lambda cell: cell.grid).items()
        rounds = {grid: {cell.run.rounds for cell in each} for grid, each in by_grid}
        asked[name] = with_rounds(_only(name, paper, tables or None), rounds)
        shown[name] = _with_points(_only(name, asked[name], cuts.of(name).keep), own)
    left = {name: left_out(paper, shown[name], cuts.of(name)) for name, paper in asked.items()}
    return Plan(scale, cuts, tables, texts, asked, shown, left, cells, *runs)


def _cells(file: Path, name: str, paper: Paper, by: Cut) -> Iterator[Cell]:
    for key, grid in _only(name, paper, by.keep).grids.items():
        chosen: Where = {axis: levels for axis, levels in by.levels.items() if axis in grid.axes}
        for coords in [point for point in points(grid) if matches(point, chosen)]:
            with at(f"{file}: grids.{key} at {coords}"):
                settings = resolve(paper, grid, coords)
                printed = RunSpec(**settings)
                small = RunSpec(**cut(printed_choices(settings), by))
            difference = substitutions(printed, small)
            few = [case.seeds for case in by.seed_cases if case.means(key, coords)]
            # the values of a seed are checked, as all others of `small` are
            for seed in grid.seeds[: few[-1] if few else by.seeds]:
                run = small.model_copy(update={"seed": seed})
                yield Cell(name, key, coords, seed, run, difference)


def _runs(cells: Iterable[Cell]) -> Runs:
    """Runs by id, those of trials among them, the search of each run, the trials of each search."""
    runs = {cell.run_id: cell.run for cell in cells}
    searches = {run_id: search_id(run) for run_id, run in runs.items() if run.tune}
    names: dict[str, list[str]] = {}
    for run_id, search in searches.items():
        with at(f"the search of run {run_id}"):
            trials = {trial.id: trial for trial in trial_runs(runs[run_id])}
        runs |= trials
        names[search] = [*trials]
    return runs, searches, names


def _only(name: str, paper: Paper, tables: tuple[str, ...] | None) -> Paper:
    """The paper with only the tables and figures named ('table1' or 'rmfl/table1')."""
    if tables is None:
        return paper
    wanted = {table.removeprefix(f"{name}/") for table in tables}
    grids = {item.grid for key, item in paper.items() if key in wanted}
    return _part_of(paper, wanted, [key for key in paper.grids if key in grids])


def _part_of(paper: Paper, keys: Container[str], grids: Iterable[str]) -> Paper:
    """The paper with only these tables, figures and facts, these grids, and the claims on both."""
    items = {
        field: {key: each for key, each in getattr(paper, field).items() if key in keys}
        for field in ("tables", "figures", "facts")
    }
    kept = {key: paper.grids[key] for key in grids}
    about = {
        name
        for name, claim in paper.claims.items()
        if not isinstance(claim, Together)
        and (claim.table in items["tables"] or claim.grid in kept)
    }
    claims = {
        name: claim
        for name, claim in paper.claims.items()
        if about.issuperset(claim.claims if isinstance(claim, Together) else (name,))
    }
    return paper.model_copy(update=items | {"grids": kept, "claims": claims})


def _with_points(paper: Paper, cells: Collection[Cell]) -> Paper:
    """The paper without the tables and figures of which a scale leaves no point."""
    keys = {
        key
        for key, item in paper.items()
        if any(x.grid == item.grid and matches(x.coords, item.where) for x in cells)
    }
    return _part_of(paper, keys | {*paper.facts}, paper.grids)
