"""An effect from a handful of seeds, with one-sided bounds at any risk.

Means: Student's t, from three pairs on. A bootstrap (BCa) of ten values is too narrow: it calls a
difference that is zero positive in 7 % of samples at a risk of 5 %, and in 2 % at 0.5 %. Spreads:
the exact bounds of a ratio of correlated deviations (Pitman 1939, Morgan 1939).

Both take differences that are spread about their mean like a normal law, or evenly to both sides;
a method that now and then collapses is not, and its rare collapse may be in no seed at all.

Values that are all equal have an interval of no width: nothing varies that a test could weigh. An
identity decides as such, and the evidence says so.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Values = npt.NDArray[np.float64]
FEWEST = 3  # with fewer repeats there are no bounds
_ROUNDING = 1e-9  # differences that vary less, of their size, are the same but for rounding
POWER = 0.8  # the probability with which the smallest detectable effect is shown


@dataclass(frozen=True)
class Interval:
    """An effect between its two one-sided bounds (not a number where there are none).

    `low_level`, `high_level`: the coverage of each bound, 0 to 1; not a number without spread.
    """

    effect: float
    low: float
    high: float
    pairs: int
    low_level: float = math.nan
    high_level: float = math.nan

    @property
    def is_test(self) -> bool:
        """Whether there are bounds."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def is_constant(self) -> bool:
        """Whether it has no width."""
        return self.is_test and math.isnan(self.low_level)


@dataclass(frozen=True)
class Estimate(ABC):
    """What some pairs say of an effect.

    `error`: how far a bound moves with each unit of t; 0 where nothing varies, not a number below
    three pairs and where a value is not finite.
    """

    effect: float
    pairs: int
    error: float

    @property
    @abstractmethod
    def freedom(self) -> int:
        """Degrees of freedom of its t."""

    @abstractmethod
    def moved(self, start: float, t: float) -> float:
        """An effect so many units of t above another."""

    def low(self, risk: float) -> float:
        """The bound that the true effect is below with that probability."""
        return self.moved(self.effect, -_t(risk, self.freedom))

    def high(self, risk: float) -> float:
        """The bound that the true effect is above with that probability."""
        return self.moved(self.effect, _t(risk, self.freedom))

    def reach(self, limit: float, risk: float, side: int, power: float = POWER) -> float:
        """The smallest true effect that so many pairs would show to be beyond a limit.

        `side` is 1 above and −1 below, `power` the probability of showing it at the spread that
        was observed: t then has a noncentral distribution, whose 1 − power lies at the critical t.
        """
        if not self.error > 0:
            return math.nan
        return self.moved(limit, side * _noncentral(risk, self.freedom, power))

    def interval(self, low: float, high: float) -> Interval:
        """With a bound at each of two risks."""
        if not self.error >= 0:
            return Interval(self.effect, math.nan, math.nan, self.pairs)
        levels = (1 - low, 1 - high) if self.error else (math.nan, math.nan)
        return Interval(self.effect, self.low(low), self.high(high), self.pairs, *levels)


class Mean(Estimate):
    """The mean of some differences: bounds at mean ± t · s / √n."""

    @property
    def freedom(self) -> int:
        """See the base class."""
        return self.pairs - 1

    def moved(self, start: float, t: float) -> float:
        """See the base class."""
        return start + t * self.error


class Gain(Estimate):
    """By how many percent one standard deviation is below another.

    The ratio's bounds lie at ratio · exp(± asinh(t · √((1 − r²) / (n − 2)))), r the correlation:
    where the sum and the difference of the scaled values are correlated just significantly.
    """

    @property
    def freedom(self) -> int:
        """See the base class."""
        return self.pairs - 2

    def moved(self, start: float, t: float) -> float:
        """See the base class."""
        return 100 * (1 - (1 - start / 100) * math.exp(-math.asinh(t * self.error)))


def of_mean(x: Values) -> Mean:
    """The mean of some differences."""
    n = len(x)
    mean = float(np.mean(x)) if n else math.nan
    if n < FEWEST or not np.isfinite(x).all():
        return Mean(mean, n, math.nan)
    if np.ptp(x) <= _ROUNDING * np.abs(x).max():
        return Mean(mean, n, 0.0)
    return Mean(mean, n, float(np.std(x, ddof=1)) / math.sqrt(n))


def of_spread(first: Values, second: Values) -> Gain:
    """By how many percent the first's standard deviation (ddof = 1) is below the second's.

    Values are paired. There are no bounds if a deviation is 0.
    """
    n = len(first)
    own, other = (float(np.std(x, ddof=1)) if n > 1 else math.nan for x in (first, second))
    if not (own > 0 and other > 0) or math.isinf(own + other):
        return Gain(_gain(own, other), n, math.nan)
    if n < FEWEST:
        return Gain(_gain(own, other), n, math.nan)
    r = float(np.corrcoef(first, second)[0, 1])
    return Gain(_gain(own, other), n, math.sqrt(max(1 - r * r, 0.0) / (n - 2)))


def _gain(own: float, other: float) -> float:
    if own == other == 0:
        return 0.0
    return 100 * (1 - own / other) if other else -math.inf


@cache
def _t(risk: float, freedom: int) -> float:
    """What Student's t exceeds with that probability."""
    return float(stats.t.isf(risk, freedom))


@cache
def _noncentral(risk: float, freedom: int, power: float) -> float:
    """The noncentrality at which t exceeds its critical value with that power."""
    return float(special.nctdtrinc(freedom, 1 - power, _t(risk, freedom)))
