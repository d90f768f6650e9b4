"""From papers and a scale to the runs that must be trained."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, require_among
from fedbench.base.grouping import grouped
from fedbench.base.yamlfile import split
from fedbench.paper.grid_points import Cell as Cell
from fedbench.paper.grid_points import LeftOut, cells_of, check_scale, expanded, left_out, matches
from fedbench.paper.metrics import require_declared
from fedbench.paper.paper import Paper, load_papers, only, part_of, selected, with_rounds
from fedbench.paper.printed_numbers import check_printed, read_printed, table_places
from fedbench.paper.run_checks import check_paper
from fedbench.paper.scale import Scale, load_scale
from fedbench.paper.yaml_notation import Where
from fedbench.plan.search import search_id, trial_runs
from fedbench.spec import RunSpec
from fedbench.spec.compositions import compositions

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
        return [*runs, *sorted({*self.trials_of(*runs)} - runs.keys())]

    def searches_of(self, run_ids: Iterable[str]) -> list[str]:
        """The ids of runs' searches, each after those that choose the settings of its trials."""
        searches = dict.fromkeys(self.searches[key] for key in run_ids if key in self.searches)
        staged = (x for each in searches for x in (*self.searches_of(self.trials[each]), each))
        return list(dict.fromkeys(staged))

    def trials_of(self, *run_ids: str) -> list[str]:
        """The ids of the trials of runs' searches, those of a first stage before the others."""
        searches = self.searches_of(run_ids)
        return list(dict.fromkeys(trial for key in searches for trial in self.trials[key]))

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
            if name in compositions() and name not in levels:
                raise FedbenchError(f"scale {self.scale} has no run of the method '{name}'")
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
    whole, texts, files = load_papers(workflow, papers)
    file, cuts = load_scale(workflow, scale)
    points = {name: expanded(files[name], paper) for name, paper in whole.items()}
    check_scale(file, cuts, whole, points, {*files})
    kept = {k: only(k, paper, cuts.of(k).keep) for k, paper in selected(whole, tables).items()}
    cells = [
        cell
        for name, paper in kept.items()
        for cell in cells_of(files[name], paper, cuts.of(name), points[name])
    ]
    plan = assembled(whole, scale, cuts, tables, texts, cells, _runs(cells))
    trials = {k: plan.runs[plan.trials[search][0]] for k, search in plan.searches.items()}
    for name, paper in plan.papers.items():
        of_paper = [cell for cell in cells if cell.paper == name]
        check_paper(files[name], paper, points[name], of_paper, trials)
        places = table_places(whole[name], points[name])
        printed = read_printed(files[name].with_suffix(".printed.csv"), places)
        check_printed(printed, whole[name], places)
    chosen = (pair for run in plan.runs.values() for pair in run.choices())
    registry.require_extras({(kind, choice.name) for kind, choice in chosen})
    require_declared()
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
    of_grid = grouped(cells, lambda cell: (cell.paper, cell.grid))
    asked, shown, left = dict[str, Paper](), dict[str, Paper](), dict[str, LeftOut]()
    for name, paper in selected(whole, tables).items():
        found = {grid: there for (of, grid), there in of_grid.items() if of == name}
        rounds = {
            key: {c.run.rounds for c in found.get(item.grid, ()) if matches(c.coords, item.where)}
            for key, item in paper.items()
        }
        by, asked[name] = cuts.of(name), with_rounds(paper, rounds)
        kept = only(name, asked[name], by.keep)
        # not the tables and figures of which the scale leaves no point
        there = {key for key, _ in kept.items() if rounds[key]}
        shown[name] = part_of(kept, there | {*kept.facts}, kept.grids)
        left[name] = left_out(asked[name], shown[name], by)
    return Plan(scale, cuts, tables, texts, asked, shown, left, cells, *runs)


def _runs(cells: Iterable[Cell]) -> Runs:
    """Runs by id, those of trials among them, the search of each run, the trials of each search."""
    runs, known = {cell.run_id: cell.run for cell in cells}, dict[str, str]()

    def search_of(run: RunSpec) -> str:
        but_seed = run.model_dump_json(exclude={"seed"})  # which is no part of a search
        return known.get(but_seed) or known.setdefault(but_seed, search_id(run))

    searches, trials, left = dict[str, str](), dict[str, list[str]](), dict(runs)
    while left:  # trials after a first stage have a search too
        tuned = {run_id: search_of(run) for run_id, run in left.items() if run.tune}
        left = {}
        for run_id, search in tuned.items():
            if search not in trials:
                with at(f"the search of run {run_id}"):
                    found = {trial.id: trial for trial in trial_runs(runs[run_id])}
                trials[search], left = [*found], left | found
        searches, runs = searches | tuned, runs | left
    return runs, searches, trials
