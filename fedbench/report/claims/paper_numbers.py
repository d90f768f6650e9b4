"""The numbers that a paper prints, by point of a grid, beside those measured at the same points."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fedbench.paper.claims import SingleClaim
from fedbench.paper.metrics import Metric
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Plan
from fedbench.plan.points import matches, points
from fedbench.plan.printed import Printed, Stat, place_of
from fedbench.report.claims.measured import Coords, MeasuredNumbers, Numbers, Repeats
from fedbench.report.claims.sides import spelled
from fedbench.report.values.frames import Collected


@dataclass(frozen=True)
class PrintedNumbers(Numbers):
    """What the paper prints, by point; scores in percent."""

    stats: dict[str, Stat]

    def values(self, point: Coords) -> Repeats:
        """The printed mean as the only repeat; empty if none is printed."""
        stat = self.stats.get(_key(point))
        return {"printed": stat.mean} if stat else {}

    def spread(self, point: Coords) -> float | None:
        """The printed standard deviation; None if none is printed."""
        stat = self.stats.get(_key(point))
        return stat.std if stat else None


def stats_of(paper: Paper, key: str, printed: Printed) -> Iterator[tuple[str, Stat]]:
    """The printed numbers of the table `key`, each with its point."""
    table = paper.tables[key]
    shown = [p for p in points(paper.grids[table.grid]) if matches(p, table.where)]
    for metric in table.metrics:
        factor = Metric(metric).points(table)
        for point in shown:
            stat = printed.numbers.get(place_of(key, paper, point, metric))
            if stat:
                where = {axis: level for axis, level in point.items() if axis not in table.over}
                std = None if stat.std is None else stat.std * factor
                at = _key(where | {"metric": spelled(metric, table.at)})
                yield at, Stat(stat.mean * factor, std)


def _key(point: Coords) -> str:
    return str(sorted(point.items()))


@dataclass(frozen=True, eq=False)
class PaperNumbers:
    """Measured and printed numbers of one paper, read once for all of its claims."""

    plan: Plan = field(repr=False)
    key: str
    collected: Collected = field(repr=False)
    printed: Printed = field(repr=False)
    _measured: dict[tuple[str, tuple[str, ...], bool], MeasuredNumbers] = field(
        default_factory=dict, repr=False
    )
    _tables: dict[str, dict[str, Stat]] = field(default_factory=dict, repr=False)

    def measured_for(self, claim: SingleClaim) -> MeasuredNumbers:
        """What was measured on the claim's grid; nothing if the scale leaves the table out."""
        tables = self.plan.asked[self.key].tables
        over = tables[claim.table].over if claim.table else ()
        grid = claim.grid or tables[claim.table].grid
        kept = not claim.table or claim.table in self.plan.papers[self.key].tables
        if (grid, over, kept) not in self._measured:
            at = (self.key, grid)
            numbers = MeasuredNumbers(self.plan, at, over, self.collected, kept=kept)
            self._measured[grid, over, kept] = numbers
        return self._measured[grid, over, kept]

    def printed_for(self, claim: SingleClaim) -> PrintedNumbers:
        """The printed numbers of the claim's table, or of its grid's tables; the first wins."""
        stats: dict[str, Stat] = {}
        for key, table in self.plan.asked[self.key].tables.items():
            fitting = claim.table == key or (not claim.table and table.grid == claim.grid)
            if fitting and not table.minus:
                stats = self._table(key) | stats
        return PrintedNumbers(stats)

    def _table(self, key: str) -> dict[str, Stat]:
        if key not in self._tables:
            self._tables[key] = dict(stats_of(self.plan.asked[self.key], key, self.printed))
        return self._tables[key]
