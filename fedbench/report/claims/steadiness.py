"""Whose results differ less from seed to seed."""

from dataclasses import dataclass

import numpy as np

from fedbench.report.claims import interval
from fedbench.report.claims.contrast import Contrast, side_by_side
from fedbench.report.claims.interval import Interval, Values
from fedbench.report.claims.source import Coords, Source


@dataclass(frozen=True, eq=False)
class Steadiness(Contrast):
    """By how many percent the winner's standard deviation is below the loser's."""

    winner: Coords
    loser: Coords

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return (self.winner, self.loser)

    def pairs(self, source: Source) -> int:
        """See the base class."""
        return len(self._pairs(source))

    def measured(self, source: Source, level: float) -> Interval:
        """See the base class."""
        pairs = self._pairs(source)
        return interval.of_spread(pairs[:, 0], pairs[:, 1], level)

    def printed(self, source: Source) -> float | None:
        """See the base class."""
        winner, loser = source.spread(self.winner), source.spread(self.loser)
        return None if winner is None or not loser else 100 * (1 - winner / loser)

    def _pairs(self, source: Source) -> Values:
        columns = [source.values(self.winner), source.values(self.loser)]
        return np.array(list(side_by_side(columns).values()), dtype=float).reshape(-1, 2)
