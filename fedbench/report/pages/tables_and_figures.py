"""The tables and figures of a paper as its page shows them, and what a leaderboard comes to."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Any, NamedTuple

import pandas as pd

from fedbench.base import registry
from fedbench.base.grouping import grouped
from fedbench.paper.grid_points import Substitutions
from fedbench.paper.metrics import Metric
from fedbench.paper.tables_and_figures import Facts, Table
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.facts import FactTable
from fedbench.report.tables.layout import TableLayout
from fedbench.report.tables.ranks import Ranks
from fedbench.report.values.leads import leads
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import RunSpec

FRONT, BASE = 10, "FedAvg"  # rows of a leaderboard on the front page, and one that is always there
_SYMBOLS = ("δ", "α")  # of how alike the clients' data are


class RanksOnPage(NamedTuple):
    """A diagram of mean ranks; `svg` is empty where the critical difference leaves none to tell."""

    key: str
    title: str
    ranks: Ranks
    svg: str
    missing_letters: str = ""


class Leader(NamedTuple):
    """The first method of a part, and FedAvg there: its mean and its rank, 0 if it is the first."""

    part: str
    name: str
    mean: float
    base: float | None
    rank: int
    methods: int


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
    def untested(self) -> bool:
        """Whether every cell comes from substitutes."""
        return all(cell.substituted for cell in self.cells)

    @property
    def substituted(self) -> bool:
        """Whether any cell comes from a substitute."""
        return any(cell.substituted for cell in self.cells)

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [cell for group in self.layout.groups for cell in group.cells]

    @property
    def skews(self) -> list[str]:
        """The symbols around the numbers that say how alike the clients' data are."""
        layout = self.layout
        texts = [*layout.heads, *(group.title for group in layout.groups)]
        texts += [label for block in layout.blocks for label in block.columns.values()]
        texts += [text for g in layout.groups for row in g.rows for text, _ in row.heads]
        return [symbol for symbol in _SYMBOLS if any(symbol in text for text in texts)]

    @property
    def size(self) -> tuple[int, int]:
        """How many methods it compares, controls aside, and in how many settings."""
        methods = {cell.place.method for cell in self.cells if not cell.control}
        return len(methods), len({cell.contest[:2] for cell in self.cells})

    @property
    def wins(self) -> tuple[list[tuple[str, int]], int]:
        """In how many settings each method alone is the best, the most first, and of how many."""
        first = [cell for cell in self.cells if cell.place.metric == self.table.metrics[0]]
        best = []
        for cells in grouped(first, lambda cell: cell.contest).values():
            seeds = [len({run.seed for run in cell.measured_runs}) for cell in cells]
            if 1 not in seeds and not any(cell.substituted for cell in cells):
                best.append([cell.place.method for cell in cells if cell.best])
        alone = Counter(names[0] for names in best if len(names) == 1)
        return alone.most_common(), sum(map(bool, best))

    @property
    def metric(self) -> Metric:
        """The first metric, by which methods are compared."""
        return Metric(self.table.metrics[0])

    @property
    def compared(self) -> int:
        """How many methods have a number."""
        return len({x.place.method for x in self.cells if x.measured and x.place.method})

    @property
    def leaders(self) -> Iterator[Leader]:
        """Who leads in each part that compares methods in one setting."""
        sign = 1 if self.metric.lower_is_better else -1
        for group in self.layout.groups:
            cells = [cell for cell in group.cells if cell.place.metric == self.metric.name]
            found = [(c.place.method, c.measured.mean) for c in cells if c.measured]
            means = dict(found)
            if len(means) < max(2, len(found)):  # a single method, or several settings
                continue
            names = sorted(means, key=lambda name: sign * means[name])
            as_shown = {x: round(sign * means[x], self.table.digits) for x in names}
            as_shown = {x: inf if isnan(shown) else shown for x, shown in as_shown.items()}
            behind = BASE in names[1:]
            rank = 1 + sum(as_shown[name] < as_shown[BASE] for name in names) if behind else 0
            base = means[BASE] if behind else None
            yield Leader(group.title, names[0], means[names[0]], base, rank, len(names))

    @property
    def ahead(self) -> tuple[str, float, int | None] | None:
        """The method with the largest mean lead over FedAvg, that lead over all parts, in points.

        The third is how many methods are significantly ahead, None where that is not tested. None
        of a table without FedAvg, or with a stand-in among its runs.
        """
        sign = -1 if self.metric.lower_is_better else 1
        values: dict[str, dict[tuple[str, ...], float]] = {}
        collapsed: set[str] = set()
        for cell in self.cells:
            if cell.place.metric == self.metric.name:
                found = {run.name: run.value for run in cell.runs if run.value is not None}
                of_method = values.setdefault(cell.place.method, {})
                of_method |= {(*cell.contest[:2], name): sign * x for name, x in found.items()}
                low = cell.near is not None and any(x < cell.near for x in found.values())
                collapsed |= {cell.place.method} if cell.diverged or low else set()
        fair = BASE in values and not self.substituted
        lead = leads(pd.DataFrame(values), BASE, collapsed) if fair else None
        if lead is None:
            return None
        beyond = [x for x in lead.mean.index if lead.mean[x] > 0 and lead.tells(str(x))]
        size = float(self.metric.points(self.table) * lead.mean.iloc[0])
        return str(lead.mean.index[0]), size, len(beyond) if lead.tested else None


_SHOWN_AS = {"epochs": "local", "steps": "local", "participation": "cohort"}


def conditions(runs: Iterable[RunSpec]) -> dict[str, Any]:
    """The settings that all runs share, none of them searched; their seeds if equally many each."""
    shared, seeds = dict[str, Any](), Counter[int]()
    for run in runs:
        unit, number = ("step", run.steps) if run.steps else ("epoch", run.local_epochs or 1)
        size, about = cohort_size(run.clients, run.participation), run.sampler.name == "bernoulli"
        settings = {
            "dataset": registry.find("dataset", run.dataset.name).attribute,
            "model": registry.find("model", run.model.name).attribute,
            "clients": run.clients,
            "cohort": {"size": size, "about": about},  # where each is drawn alone
            "local": {"unit": unit, "number": number, "most": run.work.name != "constant"},
            "batch": run.batch or 0,  # 0: all data of a client
            "rounds": run.rounds,
        }
        searched = {_SHOWN_AS.get(x, x) for x in (run.tune.grid if run.tune else ())}
        known = {k: x for k, x in (shared if seeds else settings).items() if k not in searched}
        shared = {name: x for name, x in known.items() if settings[name] == x}
        seeds[run.seed] += 1
    alike = {"seeds": len(seeds)} if len({*seeds.values()}) == 1 else {}
    return shared | alike if shared else {}


class FactOnPage(NamedTuple):
    """A table that needs no run."""

    key: str
    table: Facts
    content: FactTable


class FigureOnPage(NamedTuple):
    """A figure, drawn as an SVG for the page."""

    key: str
    title: str  # its name in the paper with the levels that it shows
    caption: str
    substituted: Substitutions  # how its runs differ from the paper's
    svg: str
    box: tuple[float, float]  # its width and height in inches
    readout: list[dict[str, Any]]  # what the page's script tells of curves
    lack: str = ""  # why nothing is drawn, if so
    missing_letters: str = ""  # boxes in its PNG and PDF, as no installed font has them
