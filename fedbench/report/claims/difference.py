"""Values added with weights: a lead, a step along an axis, a gap that grows."""

import math
from dataclasses import dataclass

from fedbench.report.claims.contrast import Contrast, side_by_side
from fedbench.report.claims.source import Coords, Repeats, Source
from fedbench.report.metrics import Metric


@dataclass(frozen=True)
class Term:
    """A weight and what it weighs: a point, or the best of several in each repeat."""

    weight: float
    points: tuple[Coords, ...]

    def values(self, source: Source) -> Repeats:
        """The values weighed; not a number where one of several is not finite."""
        rivals = side_by_side([source.values(point) for point in self.points])
        best = min if Metric(str(self.points[0]["metric"])).lower_is_better else max
        return {
            repeat: best(row) if all(map(math.isfinite, row)) else math.nan
            for repeat, row in rivals.items()
        }


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

    def effects(self, source: Source) -> Repeats:
        """See the base class."""
        rows = side_by_side([term.values(source) for term in self.terms])
        found = {repeat: self._sum(row) for repeat, row in rows.items()}
        if self.base is None:
            return found
        base = source.values(self.base)
        return {key: _percent(value, base[key]) for key, value in found.items() if key in base}

    def _sum(self, row: tuple[float, ...]) -> float:
        """Zero where nothing but rounding is left of the terms."""
        weighed = [term.weight * x for term, x in zip(self.terms, row, strict=True)]
        total = math.fsum([*weighed, self.constant])
        size = math.fsum(map(abs, [*weighed, self.constant]))
        return 0.0 if abs(total) <= 1e-12 * size else total


def _percent(value: float, base: float) -> float:
    return 100 * value / abs(base) if base else math.nan
