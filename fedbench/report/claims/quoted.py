"""The paper's own numbers at the points of a grid."""

from collections.abc import Iterator

import pandas as pd

from fedbench.paper import Paper, Table
from fedbench.plan import matches, points
from fedbench.report.claims.scope import spelled
from fedbench.report.claims.source import NOTHING, Coords, Source
from fedbench.report.frames import Stat
from fedbench.report.metrics import Metric
from fedbench.report.printed import Printed
from fedbench.report.tables import place_of


class Quoted(Source):
    """What the paper prints in the tables of a grid, or in one of them; scores in percent."""

    def __init__(self, paper: Paper, grid: str, table: str, printed: Printed) -> None:
        self._stats: dict[str, Stat] = {}
        for key, shown in paper.tables.items():
            if shown.grid == grid and table in ("", key) and not shown.minus:
                self._stats = dict(_numbers(paper, key, shown, printed)) | self._stats

    def values(self, point: Coords) -> pd.Series:
        """See the base class: one value, the printed mean."""
        stat = self._stats.get(_key(point))
        return pd.Series({"printed": stat.mean}) if stat else NOTHING

    def spread(self, point: Coords) -> float | None:
        """See the base class."""
        stat = self._stats.get(_key(point))
        return stat.std if stat else None


def _numbers(paper: Paper, key: str, table: Table, printed: Printed) -> Iterator[tuple[str, Stat]]:
    for metric in table.metrics:
        factor = Metric(metric).points(table)
        for point in points(paper.grids[table.grid]):
            stat = printed.numbers.get(place_of(key, paper, point, metric))
            if stat and matches(point, table.where):
                own = {axis: level for axis, level in point.items() if axis not in table.over}
                std = None if stat.std is None else stat.std * factor
                found = Stat(stat.mean * factor, std)
                yield _key(own | {"metric": spelled(metric, table.at)}), found


def _key(point: Coords) -> str:
    return str(sorted(point.items()))
