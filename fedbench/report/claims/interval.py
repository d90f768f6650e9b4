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
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
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


class Verdict(StrEnum):
    """What is known of a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @property
    def opposite(self) -> "Verdict":
        """Of the statement that denies it."""
        return {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}.get(self, self)


def at_least(k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Whether k of them hold: it fails once so many fail that k cannot be reached any more."""
    holding = verdicts.count(Verdict.HOLDS)
    if holding >= k:
        return Verdict.HOLDS
    possible = len(verdicts) - verdicts.count(Verdict.FAILS)
    return Verdict.FAILS if possible < k else Verdict.UNDECIDED


@dataclass(frozen=True)
class Risks:
    """With what probability, at most, a statement may hold wrongly and fail wrongly."""

    hold: float
    fail: float

    @property
    def swapped(self) -> "Risks":
        """Of the statement that denies it."""
        return Risks(self.fail, self.hold)

    def each(self, k: int, n: int) -> "Risks":
        """Of each of n statements, k of which must hold: see `tree`."""
        return Risks(self.hold / (n - k + 1), self.fail / k)


class Limit(ABC):
    """A region of effects: bounds inside it hold, bounds outside it fail."""

    def of(self, found: Estimate, risks: Risks) -> Verdict:
        """The verdict on an effect; undecided without bounds, or where they cross the limit."""
        return self._of(found, risks) if found.error >= 0 else Verdict.UNDECIDED

    @abstractmethod
    def _of(self, found: Estimate, risks: Risks) -> Verdict: ...

    def bounds(self, risks: Risks) -> Risks:
        """What each bound may risk, for the comparison to hold and to fail."""
        return risks

    @abstractmethod
    def interval(self, found: Estimate, risks: Risks) -> Interval:
        """The effect with the two bounds that decide."""

    @abstractmethod
    def detectable(self, found: Estimate, risks: Risks) -> float:
        """The smallest true effect that would be shown to hold with a probability of 80 %."""

    @abstractmethod
    def refutable(self, found: Estimate, risks: Risks) -> float:
        """The smallest true effect that would be shown to fail with a probability of 80 %."""

    @abstractmethod
    def allows(self, number: float) -> bool:
        """Whether a printed number, which has no bounds, is inside."""


@dataclass(frozen=True)
class Beyond(Limit):
    """More than `by`; of printed numbers also just as much, unless `by` is 0: a tie is no lead."""

    by: float

    def _of(self, found: Estimate, risks: Risks) -> Verdict:
        if found.low(risks.hold) > self.by:
            return Verdict.HOLDS
        return Verdict.FAILS if found.high(risks.fail) < self.by else Verdict.UNDECIDED

    def interval(self, found: Estimate, risks: Risks) -> Interval:
        """See the base class."""
        return found.interval(risks.hold, risks.fail)

    def detectable(self, found: Estimate, risks: Risks) -> float:
        """See the base class."""
        return found.reach(self.by, risks.hold, 1)

    def refutable(self, found: Estimate, risks: Risks) -> float:
        """See the base class."""
        return found.reach(self.by, risks.fail, -1)

    def allows(self, number: float) -> bool:
        """See the base class."""
        same = math.isclose(number, self.by, rel_tol=1e-9, abs_tol=1e-9)
        return self.by != 0 if same else number > self.by


@dataclass(frozen=True)
class Within(Limit):
    """Less than `margin` up or down: both of two one-sided tests hold, or either fails.

    Both must hold, so each may use the whole risk; either may fail, so each has half of it.
    """

    margin: float

    def bounds(self, risks: Risks) -> Risks:
        """See the base class."""
        return Risks(risks.hold, risks.fail / 2)

    def _of(self, found: Estimate, risks: Risks) -> Verdict:
        if -self.margin < found.low(risks.hold) and found.high(risks.hold) < self.margin:
            return Verdict.HOLDS
        each = self.bounds(risks).fail
        outside = found.low(each) > self.margin or found.high(each) < -self.margin
        return Verdict.FAILS if outside else Verdict.UNDECIDED

    def interval(self, found: Estimate, risks: Risks) -> Interval:
        """See the base class."""
        fails = self.of(found, risks) == Verdict.FAILS
        each = self.bounds(risks).fail if fails else risks.hold
        return found.interval(each, each)

    def detectable(self, found: Estimate, risks: Risks) -> float:
        """The smallest margin within which equal values would be shown to be, with 80 %.

        Each of the two tests misses it with a probability of 10 %.
        """
        return found.reach(0.0, risks.hold, 1, (1 + POWER) / 2)

    def refutable(self, found: Estimate, risks: Risks) -> float:
        """See the base class."""
        return found.reach(self.margin, self.bounds(risks).fail, 1)

    def allows(self, number: float) -> bool:
        """See the base class."""
        return abs(number) <= self.margin * (1 + 1e-9)


@dataclass(frozen=True)
class Not(Limit):
    """What the other limit refuses: holding and failing are exchanged."""

    limit: Limit

    def bounds(self, risks: Risks) -> Risks:
        """See the base class."""
        return self.limit.bounds(risks.swapped).swapped

    def _of(self, found: Estimate, risks: Risks) -> Verdict:
        return self.limit.of(found, risks.swapped).opposite

    def interval(self, found: Estimate, risks: Risks) -> Interval:
        """See the base class."""
        return self.limit.interval(found, risks.swapped)

    def detectable(self, found: Estimate, risks: Risks) -> float:
        """See the base class."""
        return self.limit.refutable(found, risks.swapped)

    def refutable(self, found: Estimate, risks: Risks) -> float:
        """See the base class."""
        return self.limit.detectable(found, risks.swapped)

    def allows(self, number: float) -> bool:
        """See the base class."""
        return not self.limit.allows(number)
