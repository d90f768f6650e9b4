"""Decides a comparison: whether it holds, fails or is undecided, by a limit on its effect.

`tree` says how the verdicts on several comparisons become the verdict on a claim.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from typing_extensions import override

from fedbench.report.claims.interval import POWER, Estimate, Interval


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
    holding = verdicts.count(Verdict.HOLDS)
    if holding >= k:
        return Verdict.HOLDS
    possible = len(verdicts) - verdicts.count(Verdict.FAILS)
    return Verdict.FAILS if possible < k else Verdict.UNDECIDED


@dataclass(frozen=True)
class Risks:
    """With what probability, at most, a verdict may be wrong: a wrong 'holds', a wrong 'fails'."""

    hold: float
    fail: float

    @property
    def swapped(self) -> "Risks":
        """The risks of the statement that denies this one."""
        return Risks(self.fail, self.hold)

    def each(self, k: int, n: int) -> "Risks":
        """The risks of each of n statements if at least k of them must hold: see `tree`."""
        return Risks(self.hold / (n - k + 1), self.fail / k)


class Limit(ABC):
    """A region of effects.

    A comparison holds if its bounds lie inside the region, and fails if they lie outside.
    """

    def of(self, estimate: Estimate, risks: Risks) -> Verdict:
        """The verdict on an effect; undecided without bounds, or if the limit lies between them."""
        return self._of(estimate, risks) if estimate.error >= 0 else Verdict.UNDECIDED

    @abstractmethod
    def _of(self, estimate: Estimate, risks: Risks) -> Verdict: ...

    def bounds(self, risks: Risks) -> Risks:
        """The risk of each of the bounds that decide, for the comparison to hold and to fail."""
        return risks

    @abstractmethod
    def interval(self, estimate: Estimate, risks: Risks) -> Interval:
        """The effect with the two bounds that decide."""

    @abstractmethod
    def p_value(self, estimate: Estimate) -> float:
        """The two-sided p-value of a difference from the limit.

        Not a number without a test, nor where two values are said to be equal: of these the
        interval says all.
        """

    @property
    def orders(self) -> bool:
        """Whether it says no more than which of two values is the better."""
        return False

    @abstractmethod
    def detectable(self, estimate: Estimate, risks: Risks) -> float:
        """The smallest true effect that would be shown to hold with a probability of 80 %."""

    @property
    def detects_margins(self) -> bool:
        """Whether `detectable` is a margin between equal values, and no effect."""
        return False

    @abstractmethod
    def refutable(self, estimate: Estimate, risks: Risks) -> float:
        """The smallest true effect that would be shown to fail with a probability of 80 %."""

    @property
    @abstractmethod
    def marks(self) -> tuple[float, ...]:
        """The effects at which the region ends."""

    @abstractmethod
    def allows(self, number: float) -> bool:
        """Whether a printed effect, which has no bounds, is inside."""

    def of_printed(self, number: float) -> Verdict:
        """The verdict on a printed effect."""
        return Verdict.HOLDS if self.allows(number) else Verdict.FAILS


@dataclass(frozen=True)
class Beyond(Limit):
    """More than `by`.

    A printed effect may fall short of `by` by `rounding`, one unit of the last digit that the text
    prints; but where `by` is 0 a tie is no lead.
    """

    by: float
    rounding: float = 0.0

    @override
    def _of(self, estimate: Estimate, risks: Risks) -> Verdict:
        if estimate.low(risks.hold) > self.by:
            return Verdict.HOLDS
        return Verdict.FAILS if estimate.high(risks.fail) < self.by else Verdict.UNDECIDED

    @override
    def interval(self, estimate: Estimate, risks: Risks) -> Interval:
        return estimate.interval(risks.hold, risks.fail)

    @override
    def p_value(self, estimate: Estimate) -> float:
        p = estimate.above(self.by)
        return 2 * min(p, 1 - p)

    @property
    @override
    def orders(self) -> bool:
        return self.by == 0

    @override
    def detectable(self, estimate: Estimate, risks: Risks) -> float:
        return estimate.reach(self.by, risks.hold, 1)

    @override
    def refutable(self, estimate: Estimate, risks: Risks) -> float:
        return estimate.reach(self.by, risks.fail, -1)

    @property
    @override
    def marks(self) -> tuple[float, ...]:
        return (self.by,)

    @override
    def allows(self, number: float) -> bool:
        least = self.by - self.rounding
        same = math.isclose(number, least, rel_tol=1e-9, abs_tol=1e-9)
        return self.by != 0 if same else number > least


@dataclass(frozen=True)
class Within(Limit):
    """Less than `margin` away from zero, up or down, by two one-sided tests.

    To hold, both tests must say so, so that each may use the whole risk; to fail, one is enough,
    so that each has half of it.
    """

    margin: float

    @override
    def bounds(self, risks: Risks) -> Risks:
        return Risks(risks.hold, risks.fail / 2)

    @override
    def _of(self, estimate: Estimate, risks: Risks) -> Verdict:
        if -self.margin < estimate.low(risks.hold) and estimate.high(risks.hold) < self.margin:
            return Verdict.HOLDS
        each = self.bounds(risks).fail
        outside = estimate.low(each) > self.margin or estimate.high(each) < -self.margin
        return Verdict.FAILS if outside else Verdict.UNDECIDED

    @override
    def interval(self, estimate: Estimate, risks: Risks) -> Interval:
        outside = abs(estimate.effect) > self.margin  # it may fail, but it cannot hold
        each = self.bounds(risks).fail if outside else risks.hold
        return estimate.interval(each, each)

    @override
    def p_value(self, estimate: Estimate) -> float:
        return math.nan

    @override
    def detectable(self, estimate: Estimate, risks: Risks) -> float:
        """The smallest margin at which equal values would be shown to be equal, with 80 %.

        Each of the two tests misses it with a probability of 10 %.
        """
        return estimate.reach(0.0, risks.hold, 1, (1 + POWER) / 2)

    @property
    @override
    def detects_margins(self) -> bool:
        return True

    @override
    def refutable(self, estimate: Estimate, risks: Risks) -> float:
        return estimate.reach(self.margin, self.bounds(risks).fail, 1)

    @property
    @override
    def marks(self) -> tuple[float, ...]:
        return (-self.margin, self.margin)

    @override
    def allows(self, number: float) -> bool:
        return abs(number) <= self.margin * (1 + 1e-9)


@dataclass(frozen=True)
class Not(Limit):
    """The opposite of another limit: holding and failing are exchanged."""

    limit: Limit

    @override
    def bounds(self, risks: Risks) -> Risks:
        return self.limit.bounds(risks.swapped).swapped

    @override
    def _of(self, estimate: Estimate, risks: Risks) -> Verdict:
        return self.limit.of(estimate, risks.swapped).opposite

    @override
    def interval(self, estimate: Estimate, risks: Risks) -> Interval:
        return self.limit.interval(estimate, risks.swapped)

    @override
    def p_value(self, estimate: Estimate) -> float:
        return self.limit.p_value(estimate)

    @property
    @override
    def orders(self) -> bool:
        return self.limit.orders

    @override
    def detectable(self, estimate: Estimate, risks: Risks) -> float:
        return self.limit.refutable(estimate, risks.swapped)

    @override
    def refutable(self, estimate: Estimate, risks: Risks) -> float:
        return self.limit.detectable(estimate, risks.swapped)

    @property
    @override
    def marks(self) -> tuple[float, ...]:
        return self.limit.marks

    @override
    def allows(self, number: float) -> bool:
        return not self.limit.allows(number)
