"""Decides a comparison: the bounds of an effect over a handful of seeds, and a limit on it.

Both tests assume a normal distribution about the mean. For means it is enough that values spread
evenly to both sides, as those of a method that collapses now and then do not. For spreads it is
not: with the tails of a Laplace distribution a risk of 0.5 % is 1.6 % with five seeds. The bounds
of a bootstrap (BCa) of ten values are too narrow for means: a risk of 0.5 % is 2 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

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


class ErrorRates(NamedTuple):
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


class Interval(NamedTuple):
    """An effect between its two one-sided bounds (not a number where there are none)."""

    effect: float
    low: float
    high: float
    pairs: int
    low_level: float = math.nan  # the confidence, 0 to 1; not a number where pairs have no spread
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
    """The mean of differences between the runs of pairs, with bounds at mean ± t · error."""

    effect: float
    pairs: int
    error: float  # standard; 0 if nothing varies, NaN below three pairs and if a value is infinite
    freedom: int  # degrees of freedom of Student's t

    def _moved(self, start: float, t: float) -> float:
        return start + t * self.error

    def _distance(self, limit: float) -> float:
        return (self.effect - limit) / self.error

    def p_value(self, limit: float) -> float:
        """The two-sided p-value of a difference from `limit`; not a number without a test."""
        if not self.error > 0:
            return math.nan
        p = float(special.stdtr(self.freedom, -self._distance(limit)))
        return 2 * min(p, 1 - p)

    def reach(self, limit: float, risk: float, side: int, power: float = POWER) -> float:
        """The smallest true effect shown to be above a limit (`side` 1) or below it (−1)."""
        if not self.error > 0:
            return math.nan
        # of a noncentral distribution whose quantile at 1 − power is the critical t
        t = special.nctdtrinc(self.freedom, 1 - power, _t(risk, self.freedom))
        return self._moved(limit, side * float(t))

    def interval(self, low: float, high: float) -> Interval:
        """The interval whose bounds have these risks that the true effect lies beyond them."""
        if not self.error >= 0:
            return Interval(self.effect, math.nan, math.nan, self.pairs)
        levels = (1 - low, 1 - high) if self.error else (math.nan, math.nan)
        below = self._moved(self.effect, -_t(low, self.freedom))
        above = self._moved(self.effect, _t(high, self.freedom))
        return Interval(self.effect, below, above, self.pairs, *levels)


class Gain(Estimate):
    """By how many percent one standard deviation is below another (Pitman 1939, Morgan 1939).

    The ratio's bounds lie at ratio · exp(± asinh(t · √((1 − r²) / (n − 2)))), where r is the
    correlation of the two.
    """

    @override
    def _moved(self, start: float, t: float) -> float:
        return 100 * (1 - (1 - start / 100) * math.exp(-math.asinh(t * self.error)))

    @override
    def _distance(self, limit: float) -> float:
        return math.sinh(math.log((1 - limit / 100) / (1 - self.effect / 100))) / self.error


@dataclass(frozen=True)
class Limit:
    """The effects above `low`; where values are said to be equal, those from `low` to `high`."""

    low: float  # if it is 0 a tie is no lead
    high: float = math.inf
    rounding: float = 0.0  # how far printed effects may fall short: a unit of the text's last digit
    denied: bool = False  # whether a comparison holds outside, and fails inside

    @property
    def is_margin(self) -> bool:
        """Whether it says that values are equal, but for a margin."""
        return math.isfinite(self.high)

    def rates(self, whole: ErrorRates) -> ErrorRates:
        """Those of each bound for the effect to lie inside and outside."""
        # inside of two ends both tests must say so, each at the whole rate; outside one is enough
        rates = whole.swapped if self.denied else whole
        return ErrorRates(rates.hold, rates.fail / 2) if self.is_margin else rates

    def verdict(self, estimate: Estimate, whole: ErrorRates) -> Verdict:
        """Undecided without bounds, or if the limit lies between them."""
        rates = self.rates(whole)
        inner = estimate.interval(rates.hold, rates.hold)
        outer = estimate.interval(rates.fail, rates.fail)
        found = Verdict.UNDECIDED
        if self.low < inner.low and inner.high < self.high:
            found = Verdict.HOLDS
        elif outer.high < self.low or outer.low > self.high:
            found = Verdict.FAILS
        return found.opposite if self.denied else found

    def interval(self, estimate: Estimate, whole: ErrorRates) -> Interval:
        """The effect with the two bounds that decide."""
        rates = self.rates(whole)
        if not self.is_margin:
            return estimate.interval(rates.hold, rates.fail)
        outside = abs(estimate.effect) > self.high  # it may fail, but it cannot hold
        each = rates.fail if outside else rates.hold
        return estimate.interval(each, each)

    def detectable(self, estimate: Estimate, whole: ErrorRates) -> float:
        """The smallest true effect, or margin between equal values, shown with a power of 80 %."""
        rates = self.rates(whole)
        if self.is_margin and not self.denied:  # each of the two tests misses it in 10 %
            return estimate.reach(0.0, rates.hold, 1, (1 + POWER) / 2)
        if self.is_margin:
            return estimate.reach(self.high, rates.fail, 1)
        side, rate = (-1, rates.fail) if self.denied else (1, rates.hold)
        return estimate.reach(self.low, rate, side)

    def allows(self, number: float) -> bool:
        """Whether an effect without bounds, such as a printed one, is as claimed."""
        if self.is_margin:
            return (abs(number) <= self.high * (1 + 1e-9)) is not self.denied
        least = self.low - self.rounding
        same = math.isclose(number, least, rel_tol=1e-9, abs_tol=1e-9)
        return (self.low != 0 if same else number > least) is not self.denied


def of_mean(x: Values) -> Estimate:
    """The mean of the differences `x`, one per pair."""
    n, error = len(x), math.nan
    if n >= FEWEST and np.isfinite(x).all():
        constant = np.ptp(x) <= _ROUNDING * np.abs(x).max()
        error = 0.0 if constant else float(np.std(x, ddof=1)) / math.sqrt(n)
    mean = float(np.mean(x)) if n else math.nan
    if abs(mean) <= _ROUNDING * np.abs(x).max(initial=0):  # as of 0.1 + 0.2 - 0.3
        mean = 0.0
    return Estimate(mean, n, error, n - 1)


def of_spread(first: Values, second: Values) -> Gain:
    """No bounds if a deviation is 0, or if the two correlate exactly, as three pairs may."""
    n = len(first)
    one, other = (float(np.std(x, ddof=1)) if n > 1 else math.nan for x in (first, second))
    gain = 0.0 if one == other == 0 else 100 * (1 - one / other) if other else -math.inf
    error = math.nan
    if n >= FEWEST and one > 0 and other > 0 and math.isfinite(one + other):
        left = 1 - float(np.corrcoef(first, second)[0, 1]) ** 2
        error = math.sqrt(left / (n - 2)) if left > _ROUNDING else math.nan
    return Gain(gain, n, error, n - 2)


@cache
def _t(risk: float, freedom: int) -> float:
    """The value that Student's t exceeds with a probability of `risk`."""
    return -float(special.stdtrit(freedom, risk))  # scipy.stats takes a second to import
