"""One comparison of numbers: its effect with an interval, or on printed numbers alone."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbench.report.claims.interval import Estimate, of_mean
from fedbench.report.claims.limit import Limit
from fedbench.report.claims.source import Coords, Repeats, Source


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
