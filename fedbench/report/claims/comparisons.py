"""What a claim compares: differences of values, rounds to a target, or spreads over the seeds.

And the limit that an effect must pass: whether its bounds lie inside the region that is claimed.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from typing_extensions import override

from fedbench.paper.metrics import Metric
from fedbench.report.claims.evidence import Numbers, Repeats
from fedbench.report.claims.sides import Coords
from fedbench.report.claims.tests import (
    POWER,
    ErrorRates,
    Estimate,
    Interval,
    Verdict,
    of_mean,
    of_spread,
)


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


Read = Callable[[Coords], frozenset[tuple[str, str]]]  # what is read of which runs at a point
_ROUNDING = 1e-9  # 0.29 times 100 is a little below 29


def side_by_side(columns: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Per repeat that all columns have, its value in each column."""
    shared = [key for key in columns[0] if all(key in column for column in columns)]
    return {key: tuple(column[key] for column in columns) for key in shared}


@dataclass(frozen=True)
class Term:
    """A weight times the value at a point, or times the best of several points in each repeat."""

    weight: float
    points: tuple[Coords, ...]

    def values(self, numbers: Numbers) -> Repeats:
        """The value per repeat, unweighted; not a number where one of several is not finite."""
        rivals = side_by_side([numbers.values(point) for point in self.points])
        best = min if Metric(str(self.points[0]["metric"])).lower_is_better else max
        return {
            repeat: best(row) if all(map(math.isfinite, row)) else math.nan
            for repeat, row in rivals.items()
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """The sum of the terms and a constant, and the limit that this effect must pass.

    It is in percent of |value at `base`| where there is one. A positive effect is in favour of what
    the claim says.
    """

    label: str
    unit: str
    limit: Limit
    terms: tuple[Term, ...]
    constant: float = 0.0
    base: Coords | None = None
    test: ClassVar[str] = "Student's t-test"

    @property
    def points(self) -> tuple[Coords, ...]:
        """The points of the grid on all sides."""
        return tuple(point for term in self.terms for point in term.points)

    @property
    def orders(self) -> bool:
        """Whether it says no more than which side is better: no size, threshold or equality."""
        return self.limit.orders and not self.constant

    def is_of_one_run(self, read: Read) -> bool:
        """Whether nothing is left of the sum, as the runs of its terms are the same."""
        sums: dict[frozenset[tuple[str, str]], float] = defaultdict(float)
        for term in self.terms:
            sums[frozenset[tuple[str, str]]().union(*map(read, term.points))] += term.weight
        return all(sums) and all(abs(x) < _ROUNDING for x in (*sums.values(), self.constant))

    def effects(self, numbers: Numbers) -> Repeats:
        """The effect of each repeat that all sides have."""
        rows = side_by_side([term.values(numbers) for term in self.terms])
        sums = {repeat: self._sum(row) for repeat, row in rows.items()}
        if self.base is None:
            return sums
        base = numbers.values(self.base)
        shares = {key: (x, abs(base[key])) for key, x in sums.items() if key in base}
        return {key: 100 * x / whole if whole else math.nan for key, (x, whole) in shares.items()}

    def _sum(self, row: tuple[float, ...]) -> float:
        """The weighted sum; zero where nothing but rounding is left of it."""
        weighed = [term.weight * x for term, x in zip(self.terms, row, strict=True)]
        total = math.fsum([*weighed, self.constant])
        size = math.fsum(map(abs, [*weighed, self.constant]))
        return 0.0 if abs(total) <= 1e-12 * size else total

    def measured(self, numbers: Numbers) -> Estimate:
        """The effect as estimated from the measured pairs."""
        return of_mean(np.array(list(self.effects(numbers).values()), dtype=float))

    def printed(self, numbers: Numbers) -> float | None:
        """The effect on printed numbers; None where one is not printed."""
        return next(iter(self.effects(numbers).values()), None)


def mean_of(same: Sequence[Comparison]) -> Comparison:
    """The mean of differences that are alike, each in a cell of its own."""
    labels = list(dict.fromkeys(one.label for one in same))
    label = labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
    terms = [Term(term.weight / len(same), term.points) for one in same for term in one.terms]
    constant = math.fsum(one.constant for one in same) / len(same)
    return Comparison(label, same[0].unit, same[0].limit, tuple(terms), constant)


@dataclass(frozen=True, eq=False)
class Speed(Comparison):
    """How many rounds earlier the first of two points reaches `target` than the second.

    Without a target each run has the other's best value as its target. The winner is ahead if it
    reaches the loser's best before the loser does, and behind if the loser does so with its best;
    where neither does, as where a run is at its best in its first round, the lead is 0. The loser's
    best alone would not be a fair target: of two methods that are alike it lies above all that the
    other reaches in every second pair.

    A target of a score is in percent. Where less is better, it is reached from above.

    A run that never reaches it, diverged or not, counts as one round more than was planned. Where
    models are scored in every e-th round, each of n leads is known to within e rounds at either
    end, so that their mean has a standard error of e/√(6n) at least, however alike the leads are.
    """

    target: float | None = None

    @override
    def effects(self, numbers: Numbers) -> Repeats:
        pairs = side_by_side([numbers.history(point) for point in self.points])
        return {key: self._lead(*pair) for key, pair in pairs.items()}

    @override
    def measured(self, numbers: Numbers) -> Estimate:
        estimate = super().measured(numbers)
        curves = [curve for side in self.points for curve in numbers.history(side).values()]
        every = max((float(np.diff(c.index, prepend=0).max()) for c in curves), default=0.0)
        least = every / math.sqrt(6 * max(estimate.pairs, 1))
        return replace(estimate, error=max(estimate.error, least))  # NaN stays: no bounds

    def _lead(self, winner: pd.Series, loser: pd.Series) -> float:
        sign = -1.0 if Metric(str(self.points[0]["metric"])).lower_is_better else 1.0
        winner, loser = sign * winner, sign * loser
        if self.target is not None:
            return _earlier(winner, loser, sign * self.target)
        ahead = _earlier(winner, loser, float(loser.max()))
        behind = _earlier(loser, winner, float(winner.max()))
        return ahead if ahead > 0 else min(0.0, -behind)


def _earlier(first: pd.Series, second: pd.Series, target: float) -> float:
    """How many rounds before the second the first reaches the target.

    Never is one round after the last that is planned for either.
    """
    never = max(first.index[-1], second.index[-1]) + 1
    reached = [curve.index[curve >= target - _ROUNDING] for curve in (first, second)]
    one, other = (float(rounds[0] if len(rounds) else never) for rounds in reached)
    return other - one


@dataclass(frozen=True, eq=False)
class Steadiness(Comparison):
    """By how many percent the first point's standard deviation is below the second's."""

    test: ClassVar[str] = "Pitman and Morgan's test"

    @override
    def measured(self, numbers: Numbers) -> Estimate:
        columns = [numbers.values(point) for point in self.points]
        pairs = np.array(list(side_by_side(columns).values()), dtype=float).reshape(-1, 2)
        return of_spread(pairs[:, 0], pairs[:, 1])

    @override
    def printed(self, numbers: Numbers) -> float | None:
        winner, loser = map(numbers.spread, self.points)
        return None if winner is None or not loser else 100 * (1 - winner / loser)
