"""Intervals from a handful of seeds: Student's t below ten, bootstrap from ten."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Values = npt.NDArray[np.float64]
FEWEST = 3  # with fewer repeats there is no interval
MANY = 10  # from here on the bootstrap


@dataclass(frozen=True)
class Interval:
    """An effect, its interval (not a number where there is none), and how many pairs it is from."""

    effect: float
    low: float
    high: float
    pairs: int

    @property
    def is_test(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def of_mean(x: Values, level: float) -> Interval:
    """The mean of some differences with its two-sided interval.

    `level` is the coverage, 0 to 1. There is no interval below three values, nor if one is not
    finite; equal values have an interval of no width.
    """
    n = len(x)
    mean = float(np.mean(x)) if n else math.nan
    if n < FEWEST or not np.isfinite(x).all():
        return Interval(mean, math.nan, math.nan, n)
    if np.ptp(x) == 0:
        return Interval(mean, float(x[0]), float(x[0]), n)
    if n >= MANY:
        return Interval(mean, *_bootstrap((x,), np.mean, level), n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * np.std(x, ddof=1) / math.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def of_spread(first: Values, second: Values, level: float) -> Interval:
    """By how many percent the first's standard deviation (ddof = 1) is below the second's.

    Values are paired. Below ten pairs: the exact interval of a ratio of correlated variances
    (Pitman 1939, Morgan 1939). There is none if a deviation is 0.
    """
    n = len(first)
    ratio = float(_ratio(first, second)) if n > 1 else math.nan
    same = n > 1 and not np.std(first) and not np.std(second)
    gain = 0.0 if same else 100 * (1 - ratio)
    if n < FEWEST or not 0 < ratio < math.inf:
        return Interval(gain, math.nan, math.nan, n)
    if n >= MANY:
        low, high = _bootstrap((first, second), _ratio, level)
    else:
        low, high = _pitman(first, second, level)
    return Interval(gain, 100 * (1 - high), 100 * (1 - low), n)


def _ratio(first: Values, second: Values, axis: int = -1) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.std(first, ddof=1, axis=axis) / np.std(second, ddof=1, axis=axis)


def _pitman(first: Values, second: Values, level: float) -> tuple[float, float]:
    """Ratios ω of the deviations at which x/ω + y and x/ω − y are not significantly correlated."""
    n = len(first)
    t = float(stats.t.ppf((1 + level) / 2, n - 2))
    r = float(np.corrcoef(first, second)[0, 1])
    k = 1 + 2 * (1 - min(r * r, 1.0)) * t * t / (n - 2)
    ratio = float(_ratio(first, second))
    return ratio * math.sqrt(k - math.sqrt(k * k - 1)), ratio * math.sqrt(k + math.sqrt(k * k - 1))


def _bootstrap(
    samples: tuple[Values, ...], statistic: Callable[..., Any], level: float
) -> tuple[float, float]:
    """The BCa interval, with enough resamples for some tens beyond each end; always the same."""
    resamples = int(min(max(10_000, 40 / (1 - level)), 100_000))
    found = stats.bootstrap(
        samples,
        statistic,
        paired=len(samples) > 1,
        vectorized=True,
        confidence_level=level,
        n_resamples=resamples,
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
