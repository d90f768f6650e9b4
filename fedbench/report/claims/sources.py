"""The sources of a paper's claims, each made once."""

from dataclasses import dataclass, field

from fedbench.paper.claims import Comparison
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed, Stat
from fedbench.report.claims.measured import Measured
from fedbench.report.claims.quoted import Quoted, numbers
from fedbench.report.panel import Results


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
