"""Holds, fails or undecided: what an effect must be for a comparison to hold."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fedbench.report.claims.interval import POWER, Estimate, Interval


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
