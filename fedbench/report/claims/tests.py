"""Decides a comparison: the bounds of an effect over a handful of seeds, and a limit on it.

Means get the bounds of Student's t-test, from three pairs on. The bounds of a bootstrap (BCa) of
ten values are too narrow: at a risk of 5 % they call a difference that is zero positive in 7 % of
samples, at 0.5 % in 2 %. Spreads get the exact bounds of a ratio of two correlated standard
deviations (Pitman 1939, Morgan 1939).

Both assume that values are spread about their mean like a normal distribution. For means it is
enough that they spread evenly to both sides; for spreads it is not: with heavier tails, such as
those of a Laplace distribution, a risk of 0.5 % becomes 1.6 % with five seeds and 3 % with ten. The
differences of a method that collapses now and then spread in neither way, and the collapse may
occur in none of the seeds.

Where all values are equal there is nothing to test, and the interval has no width: such a
comparison is decided by the value itself. `expand` says how the verdicts on several comparisons
become that on a claim.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special
from typing_extensions import override

Values = npt.NDArray[np.float64]
FEWEST = 3  # with fewer repeats there are no bounds
POWER = 0.8  # the probability with which the smallest detectable effect is shown
_ROUNDING = 1e-9  # differences that vary by less than this share of their size count as equal


class Verdict(StrEnum):
    """What the numbers say of a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @property
    def opposite(self) -> "Verdict":
        """The verdict on the statement that denies this one."""
        return {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}.get(self, self)


def at_least(k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Whether at least k of the statements hold; it fails once k can no longer be reached."""
    if verdicts.count(Verdict.HOLDS) >= k:
        return Verdict.HOLDS
    possible = len(verdicts) - verdicts.count(Verdict.FAILS)
    return Verdict.FAILS if possible < k else Verdict.UNDECIDED


@dataclass(frozen=True)
class ErrorRates:
    """With what probability, at most, a verdict may be wrong: a wrong 'holds', a wrong 'fails'."""

    hold: float
    fail: float

    @property
    def swapped(self) -> "ErrorRates":
        """Those of the statement that denies this one."""
        return ErrorRates(self.fail, self.hold)

    def each(self, k: int, n: int) -> "ErrorRates":
        """Those of each of n statements if at least k of them must hold: see `expand`."""
        return ErrorRates(self.hold / (n - k + 1), self.fail / k)


@dataclass(frozen=True)
class Interval:
    """An effect between its two one-sided bounds (not a number where there are none).

    `low_level`, `high_level`: the confidence level of each bound, 0 to 1; not a number where the
    pairs have no spread.
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
        """Whether the effect is the same in every pair, so that the interval has no width."""
        return self.is_test and math.isnan(self.low_level)


@dataclass(frozen=True)
class Estimate:
    """The mean of differences between the runs of pairs, with bounds at mean ± t · error.

    `error`: its standard error; 0 where nothing varies, not a number below three pairs and where a
    value is not finite.
    """

    effect: float
    pairs: int
    error: float

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t."""
        return self.pairs - 1

    def moved(self, start: float, t: float) -> float:
        """The effect that lies `t` standard errors above the effect `start`."""
        return start + t * self.error

    def distance(self, limit: float) -> float:
        """How many standard errors the effect lies above `limit`."""
        return (self.effect - limit) / self.error

    def above(self, limit: float) -> float:
        """The p-value, one-sided, of an effect above `limit`; not a number without a test."""
        if not self.error > 0:
            return math.nan
        return float(special.stdtr(self.freedom, -self.distance(limit)))

    @property
    def plain(self) -> Interval:
        """The two-sided 95 % confidence interval."""
        return self.interval(0.025, 0.025)

    def low(self, risk: float) -> float:
        """The lower bound: the true effect is below it with a probability of `risk`."""
        return self.moved(self.effect, -_t(risk, self.freedom))

    def high(self, risk: float) -> float:
        """The upper bound: the true effect is above it with a probability of `risk`."""
        return self.moved(self.effect, _t(risk, self.freedom))

    def reach(self, limit: float, risk: float, side: int, power: float = POWER) -> float:
        """The smallest true effect that this number of pairs would show to be beyond a limit.

        `side` is 1 for above the limit and −1 for below, `power` the probability of showing it if
        the spread is the observed one: t then has a noncentral distribution, whose quantile at
        1 − power is the critical t.
        """
        if not self.error > 0:
            return math.nan
        return self.moved(limit, side * _noncentral(risk, self.freedom, power))

    def interval(self, low: float, high: float) -> Interval:
        """The interval whose lower and upper bound have these risks."""
        if not self.error >= 0:
            return Interval(self.effect, math.nan, math.nan, self.pairs)
        levels = (1 - low, 1 - high) if self.error else (math.nan, math.nan)
        return Interval(self.effect, self.low(low), self.high(high), self.pairs, *levels)


class Gain(Estimate):
    """By how many percent one standard deviation is below another.

    The ratio's bounds lie at ratio · exp(± asinh(t · √((1 − r²) / (n − 2)))), where r is the
    correlation of the two: there, the sum and the difference of the scaled values are just
    significantly correlated.
    """

    @property
    @override
    def freedom(self) -> int:
        return self.pairs - 2

    @override
    def moved(self, start: float, t: float) -> float:
        return 100 * (1 - (1 - start / 100) * math.exp(-math.asinh(t * self.error)))

    @override
    def distance(self, limit: float) -> float:
        return math.sinh(math.log((1 - limit / 100) / (1 - self.effect / 100))) / self.error


def of_mean(x: Values) -> Estimate:
    """The mean of the differences `x`, one per pair."""
    n = len(x)
    mean = float(np.mean(x)) if n else math.nan
    if n < FEWEST or not np.isfinite(x).all():
        return Estimate(mean, n, math.nan)
    if np.ptp(x) <= _ROUNDING * np.abs(x).max():
        return Estimate(mean, n, 0.0)
    return Estimate(mean, n, float(np.std(x, ddof=1)) / math.sqrt(n))


def of_spread(first: Values, second: Values) -> Gain:
    """By how many percent the first's standard deviation (ddof = 1) is below the second's.

    Values are paired. There are no bounds if a deviation is 0, nor if the two go together exactly,
    as three pairs of coarse values may by chance.
    """
    n = len(first)
    one, other = (float(np.std(x, ddof=1)) if n > 1 else math.nan for x in (first, second))
    gain = 0.0 if one == other == 0 else 100 * (1 - one / other) if other else -math.inf
    if n < FEWEST or not (one > 0 and other > 0) or math.isinf(one + other):
        return Gain(gain, n, math.nan)
    left = 1 - float(np.corrcoef(first, second)[0, 1]) ** 2
    return Gain(gain, n, math.sqrt(left / (n - 2)) if left > _ROUNDING else math.nan)


@cache
def _t(risk: float, freedom: int) -> float:
    """The value that Student's t exceeds with a probability of `risk`."""
    return -float(special.stdtrit(freedom, risk))  # scipy.stats takes a second to import


@cache
def _noncentral(risk: float, freedom: int, power: float) -> float:
    """The noncentrality at which t exceeds its critical value with that power."""
    return float(special.nctdtrinc(freedom, 1 - power, _t(risk, freedom)))
