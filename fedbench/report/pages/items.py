"""The tables, figures and searches of a paper as its page shows them."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import comb
from typing import Any

from fedbench.base import registry
from fedbench.base.grouping import grouped
from fedbench.paper.items import Facts, Table
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import reading
from fedbench.plan.plan import Plan
from fedbench.plan.search import Winner, scored, words
from fedbench.plan.substitutions import Substitutions
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.facts import FactTable
from fedbench.report.tables.layout import Group, Row, TableLayout
from fedbench.report.tables.ranks import MANY, Ranks
from fedbench.report.values.frames import Collected
from fedbench.report.values.numbers import point_name
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import RunSpec

FRONT, BASE = 10, "FedAvg"  # rows of a leaderboard on the front page, and one that is always there
EXPLAINED = ("client_worst",)  # columns whose label alone does not say what is measured
_SYMBOLS = ("δ", "α")  # of how alike the clients' data are


@dataclass(frozen=True)
class RanksOnPage:
    """A diagram of mean ranks; `svg` is empty where the critical difference leaves none to tell."""

    key: str
    title: str
    ranks: Ranks
    svg: str = field(repr=False)
    missing_letters: str = ""

    @property
    def crowded(self) -> bool:
        """Whether the diagram shades the methods that are not told apart from the first."""
        return len(self.ranks.mean) > MANY

    @property
    def pairs(self) -> int:
        """How many pairs of methods there are."""
        return comb(len(self.ranks.mean), 2)


@dataclass(frozen=True)
class TableOnPage:
    """A table of runs, laid out; `conditions` are what all of its runs have in common."""

    key: str
    table: Table
    layout: TableLayout
    caption: str
    ranks: tuple[RanksOnPage, ...]
    conditions: dict[str, Any] = field(default_factory=dict)

    @property
    def scores(self) -> bool:
        """Whether all its metrics are scores, whose differences are percentage points."""
        return all(Metric(name).is_score for name in self.table.metrics)

    @property
    def untested(self) -> bool:
        """Whether every cell comes from substitutes, not from the paper's experiment."""
        return all(cell.substituted for cell in self.cells)

    @property
    def substituted(self) -> bool:
        """Whether any cell comes from a substitute."""
        return any(cell.substituted for cell in self.cells)

    @property
    def marked(self) -> bool:
        """Whether any cell is marked as the best one."""
        return any(cell.best for cell in self.cells)

    @property
    def tuned_near_chance(self) -> bool:
        """Whether settings of any cell were chosen by trials near chance."""
        return any(cell.tuned_near_chance for cell in self.cells)

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [e for g in self.layout.groups for row in g.rows for e in row.cells.values()]

    def first_rows(self, group: Group) -> list[tuple[int, Row]]:
        """What the front page shows of a group: its first rows and FedAvg's, each with a place."""
        rows = enumerate(group.rows, start=1)
        return [(n, x) for n, x in rows if n <= FRONT or BASE in {text for text, _ in x.heads}]

    @property
    def explained(self) -> list[str]:
        """The columns whose label needs a sentence."""
        columns = dict.fromkeys(reading(name).metric for name in self.table.metrics)
        return [name for name in columns if name in EXPLAINED]

    @property
    def skews(self) -> list[str]:
        """The symbols around the numbers that say how alike the clients' data are."""
        layout = self.layout
        texts = [*layout.heads, *(group.title for group in layout.groups)]
        texts += [label for block in layout.blocks for label in block.columns.values()]
        texts += [text for g in layout.groups for row in g.rows for text, _ in row.heads]
        return [symbol for symbol in _SYMBOLS if any(symbol in text for text in texts)]

    @property
    def methods(self) -> int:
        """How many methods it compares, controls aside."""
        return len({cell.place.method for cell in self.cells if not cell.control})

    @property
    def settings(self) -> int:
        """In how many settings."""
        return len({(cell.place.dataset, cell.place.setting) for cell in self.cells})

    @property
    def wins(self) -> tuple[list[tuple[str, int]], int]:
        """In how many settings each method alone is the best, the most first, and of how many.

        Settings count by the table's first metric where no run is a substitute and every method has
        two seeds; none if no cell of them is marked as best.
        """
        first = [cell for cell in self.cells if cell.place.metric == self.table.metrics[0]]
        best = []
        for cells in grouped(first, lambda cell: cell.contest).values():
            seeds = [len({run.seed for run in cell.measured_runs}) for cell in cells]
            if 1 not in seeds and not any(cell.substituted for cell in cells):
                best.append([cell.place.method for cell in cells if cell.best])
        alone = Counter(names[0] for names in best if len(names) == 1)
        return alone.most_common(), sum(map(bool, best))


def conditions(runs: Iterable[RunSpec]) -> dict[str, Any]:
    """The settings that all of the runs share, by name, and their number of seeds.

    dataset and model, named as in papers ('CIFAR10' of cifar10), clients, cohort (`about` its size
    where each client is drawn by itself) and how many of these `local` steps or epochs, batch (0:
    all data of a client), rounds. Empty if they share none.
    """
    told, seeds = list[dict[str, Any]](), set()
    for run in runs:
        seeds.add(run.seed)
        unit, number = ("step", run.steps) if run.steps else ("epoch", run.local_epochs or 1)
        size, about = cohort_size(run.clients, run.participation), run.sampler.name == "bernoulli"
        settings = {
            "dataset": registry.find("dataset", run.dataset.name).attribute,
            "model": registry.find("model", run.model.name).attribute,
            "clients": run.clients,
            "cohort": {"size": size, "about": about},
            "local": {"unit": unit, "number": number, "most": run.work.name != "constant"},
            "batch": run.batch or 0,
            "rounds": run.rounds,
        }
        told.append(settings)
    first = told[0] if told else {}
    shared = {name: x for name, x in first.items() if all(other[name] == x for other in told)}
    return shared | {"seeds": len(seeds)} if shared else {}


@dataclass(frozen=True)
class FactOnPage:
    """A table that needs no run."""

    key: str
    table: Facts
    content: FactTable


@dataclass(frozen=True)
class FigureOnPage:
    """A figure, drawn as an SVG for the page."""

    key: str
    name: str  # in the paper
    title: str  # its name with the levels that it shows
    caption: str
    substituted: Substitutions  # how its runs differ from the paper's
    svg: str = field(repr=False)
    readout: list[dict[str, Any]] = field(repr=False)  # what the page's script tells of curves
    lack: str = ""  # why nothing is drawn, if so
    missing_letters: str = ""  # boxes in its PNG and PDF, as no installed font has them

    @property
    def box(self) -> tuple[float, float]:
        """Width and height of the SVG in inches."""
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)', self.svg)
        return (float(box[1]) / 72, float(box[2]) / 72) if box else (0.0, 0.0)


@dataclass(frozen=True)
class SearchOnPage:
    """One search: the settings of the paper it serves, each point's score, and the best."""

    served: tuple[str, ...]  # these settings whatever their seeds, such as 'MNIST, α = 0.1, MFL'
    methods: frozenset[str]  # those among them
    rule: str
    tried: tuple[tuple[str, str], ...]  # (point, score) in the grid's order
    lost: frozenset[str]  # points of which a trial diverged
    chosen: str
    near_chance: bool  # whether even the best point scored next to nothing
    at_edge: tuple[tuple[str, bool], ...]  # fields at an end of what was tried, whether the paper's


def searches(plan: Plan, paper: str, collected: Collected, lost: set[str]) -> list[SearchOnPage]:
    """The paper's searches that have chosen, in the plan's order; `lost` are diverged runs' ids."""
    searched = [c for c in plan.cells if c.paper == paper and c.run_id in plan.searches]
    cells = grouped(searched, lambda cell: plan.searches[cell.run_id])
    theirs, shown = plan.papers[paper].paper_grids, []
    for search, served in cells.items():
        run = served[0].run
        if found := collected.winner(search, run):
            names = (", ".join(point_name(*at) for at in x.coords.items()) for x in served)
            points = [_pairs(trial) for trial in found["trials"]]
            scores = [_score(trial["score"], run) for trial in found["trials"]]
            # the runs of trials stand by seed, and by point of the grid
            gone = [n for n, run_id in enumerate(found.get("runs", ())) if run_id in lost]
            page = SearchOnPage(
                served=tuple(dict.fromkeys(names)),
                methods=frozenset(str(x.coords["method"]) for x in served if "method" in x.coords),
                rule=words(run),
                tried=tuple(zip(points, scores, strict=True)),
                lost=frozenset(points[n % len(points)] for n in gone),
                chosen=_pairs(found["chosen"]),
                near_chance=collected.near_chance(search, run),
                at_edge=tuple((field, field in theirs) for field in found["on_edge"]),
            )
            shown.append(page)
    return shown


def _score(score: float | None, run: RunSpec) -> str:
    """A score as it is shown: accuracies in percent, a dash where a target was not reached."""
    if score is None or run.tune is None:
        return "–"
    metric = Metric(scored(run.tune))
    return f"{100 * score:.1f}" if metric.is_score and not metric.target else f"{score:g}"


def _pairs(point: Winner) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items() if name != "score")
