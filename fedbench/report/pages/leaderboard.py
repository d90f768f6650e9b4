"""What a leaderboard comes to: who leads in each of its parts, and how sure that is."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from fedbench.paper.metrics import Metric
from fedbench.report.pages.items import BASE, TableOnPage
from fedbench.report.values.leads import Leads, leads


@dataclass(frozen=True)
class Leader:
    """The first method of a part, and FedAvg there: its mean and its rank, 0 if it is the first."""

    part: str
    name: str
    mean: float
    base: float | None
    rank: int
    methods: int


@dataclass(frozen=True)
class Board:
    """How many methods a table compares, and who leads."""

    item: TableOnPage
    methods: int
    leaders: tuple[Leader, ...]
    best: str = ""  # with the largest mean lead over FedAvg, if it is there and no run a stand-in
    size: float = 0.0  # of that lead over all parts
    ahead: int | None = None  # how many methods are significantly, None where that is not tested
    base: str = BASE

    @property
    def metric(self) -> Metric:
        """What methods are compared by: the table's first metric."""
        return Metric(self.item.table.metrics[0])

    @property
    def percent(self) -> bool:
        """Whether its numbers are shown in percent."""
        return self.metric.factor(self.item.table) > 1


def board(item: TableOnPage) -> Board | None:
    """What the table comes to; None if it does not compare two methods."""
    measured = {cell.place.method for cell in item.cells if cell.measured and cell.place.method}
    if len(measured) < 2:
        return None
    leaders = tuple(_leaders(item))
    found = None if item.substituted else _leads(item)
    if found is None:
        return Board(item, len(measured), leaders)
    best = str(found.mean.index[0])
    size = float(Metric(item.table.metrics[0]).points(item.table) * found.mean[best])
    beyond = [x for x in found.mean.index if found.mean[x] > 0 and found.tells(str(x))]
    ahead = len(beyond) if found.tested else None
    return Board(item, len(measured), leaders, best, size, ahead)


def _leaders(item: TableOnPage) -> Iterator[Leader]:
    metric = Metric(item.table.metrics[0])
    sign = 1 if metric.lower_is_better else -1
    for group in item.layout.groups:
        cells = [cell for row in group.rows for cell in row.cells.values()]
        found = [(c.place.method, c.measured.mean) for c in cells
                 if c.place.metric == metric.name and c.measured]  # fmt: skip
        means = dict(found)
        if len(means) < max(2, len(found)):  # a single method, or several settings
            continue
        names = sorted(means, key=lambda name: sign * means[name])
        as_shown = {name: round(sign * means[name], item.table.digits) for name in names}
        behind = BASE in names[1:]
        rank = 1 + sum(as_shown[name] < as_shown[BASE] for name in names) if behind else 0
        base = means[BASE] if behind else None
        yield Leader(group.title, names[0], means[names[0]], base, rank, len(names))


def _leads(item: TableOnPage) -> Leads | None:
    """Every method's lead over FedAvg by the first metric, over all settings and seeds."""
    metric = item.table.metrics[0]
    sign = -1 if Metric(metric).lower_is_better else 1
    values: dict[str, dict[tuple[str, ...], float]] = {}
    collapsed: set[str] = set()
    for cell in item.cells:
        if cell.place.metric == metric:
            of_method = values.setdefault(cell.place.method, {})
            where = (cell.place.dataset, cell.place.setting)
            of_method |= {
                (*where, r.name): sign * r.value for r in cell.runs if r.value is not None
            }
            low = [r for r in cell.measured_runs if cell.near and (r.value or 0.0) < cell.near]
            collapsed |= {cell.place.method} if cell.diverged or low else set()
    return leads(pd.DataFrame(values), BASE, collapsed) if BASE in values else None
