"""Whose results differ less from seed to seed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbench.report.claims.contrast import Contrast, side_by_side
from fedbench.report.claims.interval import Estimate, of_spread
from fedbench.report.claims.source import Coords, Source


@dataclass(frozen=True, eq=False)
class Steadiness(Contrast):
    """By how many percent the winner's standard deviation is below the loser's."""

    winner: Coords
    loser: Coords
    test: ClassVar[str] = "Pitman and Morgan's test"

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return (self.winner, self.loser)

    def measured(self, source: Source) -> Estimate:
        """See the base class."""
        columns = [source.values(self.winner), source.values(self.loser)]
        pairs = np.array(list(side_by_side(columns).values()), dtype=float).reshape(-1, 2)
        return of_spread(pairs[:, 0], pairs[:, 1])

    def printed(self, source: Source) -> float | None:
        """See the base class."""
        winner, loser = source.spread(self.winner), source.spread(self.loser)
        return None if winner is None or not loser else 100 * (1 - winner / loser)
