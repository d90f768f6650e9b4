"""Values added with weights: a lead, a step along an axis, a gap that grows."""

from dataclasses import dataclass

import pandas as pd

from fedbench.report.claims.contrast import Contrast, side_by_side, without_noise
from fedbench.report.claims.source import Coords, Source
from fedbench.report.metrics import Metric


@dataclass(frozen=True)
class Term:
    """A weight and what it weighs: a point, or the best of several in each repeat."""

    weight: float
    points: tuple[Coords, ...]

    def values(self, source: Source) -> pd.Series:
        """The weighed values by repeat."""
        if len(self.points) == 1:
            return source.values(self.points[0])
        rivals = side_by_side([source.values(point) for point in self.points])
        lower = Metric(str(self.points[0]["metric"])).lower_is_better
        best = rivals.min(axis=1, skipna=False) if lower else rivals.max(axis=1, skipna=False)
        return pd.Series(best)


@dataclass(frozen=True, eq=False)
class Difference(Contrast):
    """The sum of the terms and a constant; in percent of |`base`| where there is one."""

    terms: tuple[Term, ...]
    constant: float = 0.0
    base: Coords | None = None

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return tuple(point for term in self.terms for point in term.points)

    def effects(self, source: Source) -> pd.Series:
        """See the base class."""
        table = side_by_side([term.values(source) for term in self.terms])
        weighed = table.set_axis(range(len(self.terms)), axis=1) * [t.weight for t in self.terms]
        size = weighed.abs().sum(axis=1, skipna=False) + abs(self.constant)
        found = without_noise(weighed.sum(axis=1, skipna=False) + self.constant, size)
        if self.base is None:
            return found
        base = source.values(self.base).reindex(found.index).abs()
        return 100 * found / base
