"""One comparison of numbers: its effect with an interval, or on printed numbers alone."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbench.report.claims import interval
from fedbench.report.claims.interval import Interval
from fedbench.report.claims.limit import Limit
from fedbench.report.claims.source import Coords, Source


@dataclass(frozen=True, eq=False)
class Contrast(ABC):
    """A comparison; a positive effect is in favour of what the claim says."""

    label: str
    unit: str
    limit: Limit

    @property
    @abstractmethod
    def points(self) -> tuple[Coords, ...]:
        """Everything that is compared."""

    def effects(self, source: Source) -> pd.Series:
        """The effect in each repeat that all sides have."""
        raise NotImplementedError

    def pairs(self, source: Source) -> int:
        """Repeats that all sides have."""
        return len(self.effects(source))

    def measured(self, source: Source, level: float) -> Interval:
        """The effect with its two-sided interval of that coverage."""
        return interval.of_mean(self.effects(source).to_numpy(dtype=float), level)

    def printed(self, source: Source) -> float | None:
        """The effect on printed numbers; None where one is not printed."""
        found = self.effects(source)
        return float(found.iloc[0]) if len(found) else None


@dataclass(frozen=True, eq=False)
class Averaged(Contrast):
    """The mean of the same comparison in several cells, repeat by repeat."""

    parts: tuple[Contrast, ...]

    @property
    def points(self) -> tuple[Coords, ...]:
        """See the base class."""
        return tuple(point for part in self.parts for point in part.points)

    def effects(self, source: Source) -> pd.Series:
        """See the base class."""
        return side_by_side([part.effects(source) for part in self.parts]).mean(
            axis=1, skipna=False
        )


def side_by_side(columns: Sequence[pd.Series]) -> pd.DataFrame:
    """Repeats that all of them have."""
    return pd.concat(list(columns), axis=1, join="inner").astype(float)


def without_noise(total: pd.Series, size: pd.Series) -> pd.Series:
    """Zero where a sum is nothing but rounding beside the size of its terms."""
    return total.mask(np.abs(total) <= 1e-12 * size, 0.0)
