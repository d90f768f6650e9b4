"""The paper's own numbers at the points of a grid."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.paper.paper import Paper
from fedbench.plan.plan import matches, points
from fedbench.plan.printed import Printed, Stat, place_of
from fedbench.report.claims.scope import spelled
from fedbench.report.claims.source import Coords, Repeats, Source
from fedbench.report.metrics import Metric


@dataclass(frozen=True)
class Quoted(Source):
    """What the paper prints, by point; scores in percent."""

    stats: dict[str, Stat]

    def values(self, point: Coords) -> Repeats:
        """See the base class: one value, the printed mean."""
        stat = self.stats.get(_key(point))
        return {"printed": stat.mean} if stat else {}

    def spread(self, point: Coords) -> float | None:
        """See the base class."""
        stat = self.stats.get(_key(point))
        return stat.std if stat else None


def numbers(paper: Paper, key: str, printed: Printed) -> Iterator[tuple[str, Stat]]:
    """The printed numbers of a table, each under its point."""
    table = paper.tables[key]
    own = [p for p in points(paper.grids[table.grid]) if matches(p, table.where)]
    for metric in table.metrics:
        factor = Metric(metric).points(table)
        for point in own:
            stat = printed.numbers.get(place_of(key, paper, point, metric))
            if stat:
                shown = {axis: level for axis, level in point.items() if axis not in table.over}
                std = None if stat.std is None else stat.std * factor
                where = _key(shown | {"metric": spelled(metric, table.at)})
                yield where, Stat(stat.mean * factor, std)


def _key(point: Coords) -> str:
    return str(sorted(point.items()))
