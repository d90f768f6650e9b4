"""Comparisons of numbers: differences, rounds to a target, spreads over the seeds."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from fedbench.report.claims.interval import Estimate, of_mean, of_spread
from fedbench.report.claims.limit import Limit
from fedbench.report.claims.source import Coords, Repeats, Source
from fedbench.report.values.metrics import Metric


@dataclass(frozen=True, eq=False)
class Contrast(ABC):
    """A comparison; a positive effect is in favour of what the claim says."""

    label: str
    unit: str
    limit: Limit
    test: ClassVar[str] = "Student's t-test"

    @property
    @abstractmethod
    def points(self) -> tuple[Coords, ...]:
        """Everything that is compared."""

    def effects(self, source: Source) -> Repeats:
        """The effect in each repeat that all sides have."""
        raise NotImplementedError

    def measured(self, source: Source) -> Estimate:
        """What the measured pairs say of the effect."""
        return of_mean(np.array(list(self.effects(source).values()), dtype=float))

    def printed(self, source: Source) -> float | None:
        """The effect on printed numbers; None where one is not printed."""
        found = self.effects(source)
        return next(iter(found.values()), None)


@dataclass(frozen=True, eq=False)
class Averaged(Contrast):
    """The mean of the same comparison in several cells, repeat by repeat."""

    parts: tuple[Contrast, ...]

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return tuple(point for part in self.parts for point in part.points)

    def effects(self, source: Source) -> Repeats:
        """See the base class."""
        rows = side_by_side([part.effects(source) for part in self.parts])
        return {repeat: _mean(row) for repeat, row in rows.items()}


def _mean(row: tuple[float, ...]) -> float:
    """Zero where nothing but rounding is left of it."""
    total = sum(row)
    return 0.0 if abs(total) <= 1e-9 * sum(map(abs, row)) else total / len(row)


def side_by_side(columns: Sequence[Repeats]) -> dict[str, tuple[float, ...]]:
    """The values of each repeat that all of them have."""
    shared = [key for key in columns[0] if all(key in column for column in columns)]
    return {key: tuple(column[key] for column in columns) for key in shared}


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
