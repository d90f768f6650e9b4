"""Who needs fewer rounds to an accuracy."""

from dataclasses import dataclass

import pandas as pd

from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.source import Coords, Repeats, Source


@dataclass(frozen=True, eq=False)
class Speed(Contrast):
    """By how many rounds the winner is earlier at `target` percent, or at the loser's best.

    A run that never comes there, diverged or not, counts as one round more than was planned.
    """

    winner: Coords
    loser: Coords
    target: float | None

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return (self.winner, self.loser)

    def effects(self, source: Source) -> Repeats:
        """See the base class."""
        winners, losers = source.history(self.winner), source.history(self.loser)
        pairs = {key: (winners[key], losers[key]) for key in winners if key in losers}
        return {key: self._lead(*pair) for key, pair in pairs.items()}

    def _lead(self, winner: pd.Series, loser: pd.Series) -> float:
        target = float(loser.max()) if self.target is None else self.target
        return _rounds_to(target, loser) - _rounds_to(target, winner)


def _rounds_to(target: float, curve: pd.Series) -> float:
    """The first round at the target or above it; one more than the last planned if none is."""
    there = curve.index[curve >= target]
    return float(there[0] if len(there) else curve.index[-1] + 1)
