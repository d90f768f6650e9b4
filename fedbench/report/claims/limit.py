"""What an effect must be for a comparison to hold."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from fedbench.report.claims.interval import Interval
from fedbench.report.claims.verdict import Verdict


class Limit(ABC):
    """A region of effects; an interval inside it holds, one outside it fails."""

    def of(self, found: Interval) -> Verdict:
        """The verdict on an interval; undecided without one, or where it crosses the limit."""
        return self._of(found.low, found.high) if found.is_test else Verdict.UNDECIDED

    @abstractmethod
    def _of(self, low: float, high: float) -> Verdict: ...

    @abstractmethod
    def allows(self, number: float) -> bool:
        """Whether a printed number, which has no interval, is inside."""


@dataclass(frozen=True)
class Beyond(Limit):
    """More than `by`; of printed numbers also just as much, unless `by` is 0: a tie is no lead."""

    by: float

    def _of(self, low: float, high: float) -> Verdict:
        if low > self.by:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.by else Verdict.UNDECIDED

    def allows(self, number: float) -> bool:
        """See the base class."""
        same = math.isclose(number, self.by, rel_tol=1e-9, abs_tol=1e-9)
        return self.by != 0 if same else number > self.by


@dataclass(frozen=True)
class Not(Limit):
    """What the other limit refuses: holding and failing are exchanged."""

    limit: Limit

    def _of(self, low: float, high: float) -> Verdict:
        return self.limit._of(low, high).opposite

    def allows(self, number: float) -> bool:
        """See the base class."""
        return not self.limit.allows(number)


@dataclass(frozen=True)
class Within(Limit):
    """Less than `margin` up or down: two one-sided tests, each at half of the interval's rest."""

    margin: float

    def _of(self, low: float, high: float) -> Verdict:
        if -self.margin < low and high < self.margin:
            return Verdict.HOLDS
        outside = low > self.margin or high < -self.margin
        return Verdict.FAILS if outside else Verdict.UNDECIDED

    def allows(self, number: float) -> bool:
        """See the base class."""
        return abs(number) <= self.margin * (1 + 1e-9)
