"""The region of effects that a comparison claims: whether bounds lie inside it, or outside."""

import math
from dataclasses import dataclass

from fedbench.report.claims.tests import POWER, ErrorRates, Estimate, Interval, Verdict


@dataclass(frozen=True)
class Limit:
    """The effects above `low`; or, where values are said to be equal, those from `low` to `high`.

    A comparison holds if its bounds lie inside, and fails if they lie outside; where it is
    `denied`, the other way round. To be between two ends, both tests must say so, so that each may
    use the whole error rate; to fail, one is enough, so that each has half of it.

    A printed effect, which has no bounds, may fall short of `low` by `rounding`, one unit of the
    last digit that the text prints; but where `low` is 0 a tie is no lead.
    """

    low: float
    high: float = math.inf
    rounding: float = 0.0
    denied: bool = False

    @property
    def is_margin(self) -> bool:
        """Whether it says that values are equal, but for a margin."""
        return math.isfinite(self.high)

    @property
    def detects_margins(self) -> bool:
        """Whether `detectable` is a margin between equal values, and no effect."""
        return self.is_margin and not self.denied

    @property
    def orders(self) -> bool:
        """Whether it says no more than which of two values is the better."""
        return self.low == 0

    @property
    def marks(self) -> tuple[float, ...]:
        """The effects at which the region ends."""
        return (self.low, self.high) if self.is_margin else (self.low,)

    def of_each_bound(self, whole: ErrorRates) -> ErrorRates:
        """The error rate of each of the bounds that decide, to hold and to fail."""
        rates = self._inside(whole)
        return rates.swapped if self.denied else rates

    def _inside(self, whole: ErrorRates) -> ErrorRates:
        """The same of the statement that the effect is in the region, denied or not."""
        rates = whole.swapped if self.denied else whole
        return ErrorRates(rates.hold, rates.fail / 2) if self.is_margin else rates

    def verdict(self, estimate: Estimate, whole: ErrorRates) -> Verdict:
        """The verdict on an effect; undecided without bounds, or if the limit lies between them."""
        if not estimate.error >= 0:
            return Verdict.UNDECIDED
        hold, fail = self._inside(whole).hold, self._inside(whole).fail
        found = Verdict.UNDECIDED
        if self.low < estimate.low(hold) and estimate.high(hold) < self.high:
            found = Verdict.HOLDS
        elif estimate.high(fail) < self.low or estimate.low(fail) > self.high:
            found = Verdict.FAILS
        return found.opposite if self.denied else found

    def interval(self, estimate: Estimate, whole: ErrorRates) -> Interval:
        """The effect with the two bounds that decide."""
        rates = self._inside(whole)
        if not self.is_margin:
            return estimate.interval(rates.hold, rates.fail)
        outside = abs(estimate.effect) > self.high  # it may fail, but it cannot hold
        each = rates.fail if outside else rates.hold
        return estimate.interval(each, each)

    def p_value(self, estimate: Estimate) -> float:
        """The two-sided p-value of a difference from the limit.

        Not a number without a test, nor where two values are said to be equal: of these the
        interval says all.
        """
        p = math.nan if self.is_margin else estimate.above(self.low)
        return 2 * min(p, 1 - p)

    def detectable(self, estimate: Estimate, whole: ErrorRates) -> float:
        """The smallest true effect that would be shown to hold with a probability of 80 %.

        Of equal values it is the smallest margin: each of the two tests misses it with a
        probability of 10 %.
        """
        rates = self._inside(whole)
        if self.is_margin and self.denied:
            return estimate.reach(self.high, rates.fail, 1)
        if self.is_margin:
            return estimate.reach(0.0, rates.hold, 1, (1 + POWER) / 2)
        if self.denied:
            return estimate.reach(self.low, rates.fail, -1)
        return estimate.reach(self.low, rates.hold, 1)

    def allows(self, number: float) -> bool:
        """Whether an effect without bounds, such as a printed one, is as claimed."""
        if self.is_margin:
            return (abs(number) <= self.high * (1 + 1e-9)) is not self.denied
        least = self.low - self.rounding
        same = math.isclose(number, least, rel_tol=1e-9, abs_tol=1e-9)
        return (self.low != 0 if same else number > least) is not self.denied
