"""The numbers that a paper prints, at the points of a grid, and all sources of its claims."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fedbench.paper.claims import Comparison
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Plan, matches, points
from fedbench.plan.printed import Printed, Stat, place_of
from fedbench.report.claims.scope import spelled
from fedbench.report.claims.source import Coords, Measured, Repeats, Source
from fedbench.report.values.frames import Results
from fedbench.report.values.metrics import Metric


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


@dataclass(frozen=True, eq=False)
class Sources:
    """Measured and printed numbers of a paper's grids, shared by its claims."""

    plan: Plan
    key: str
    results: Results
    printed: Printed
    _measured: dict[tuple[str, tuple[str, ...]], Measured] = field(default_factory=dict)
    _tables: dict[str, dict[str, Stat]] = field(default_factory=dict)

    def measured(self, claim: Comparison) -> Measured:
        """What was measured on the claim's grid."""
        tables = self.plan.papers[self.key].tables
        over = tables[claim.table].over if claim.table else ()
        grid = self._grid(claim)
        if (grid, over) not in self._measured:
            found = Measured(self.plan, (self.key, grid), over, self.results)
            self._measured[grid, over] = found
        return self._measured[grid, over]

    def quoted(self, claim: Comparison) -> Quoted:
        """What is printed in the claim's table, or in all tables of its grid, the first first."""
        stats: dict[str, Stat] = {}
        for key, table in self.plan.papers[self.key].tables.items():
            fitting = claim.table == key or (not claim.table and table.grid == claim.grid)
            if fitting and not table.minus:
                stats = self._table(key) | stats
        return Quoted(stats)

    def _grid(self, claim: Comparison) -> str:
        return claim.grid or self.plan.papers[self.key].tables[claim.table].grid

    def _table(self, key: str) -> dict[str, Stat]:
        if key not in self._tables:
            self._tables[key] = dict(numbers(self.plan.papers[self.key], key, self.printed))
        return self._tables[key]
