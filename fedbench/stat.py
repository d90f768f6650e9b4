"""The mean of some values and how far they lie apart."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stat:
    """Mean and sample standard deviation (None where it is unknown or there is one value)."""

    mean: float
    std: float | None

    @classmethod
    def of(cls, values: list[float]) -> "Stat | None":
        """Over some seeds; None over none. A value that is not finite makes the mean so."""
        if not values:
            return None
        if not np.isfinite(values).all():
            return cls(float("nan"), None)
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if values[1:] else None)
