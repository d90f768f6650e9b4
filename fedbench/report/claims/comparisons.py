"""What a claim compares: differences of values, rounds to a target, or spreads over the seeds."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from typing_extensions import override

from fedbench.paper.metrics import Metric
from fedbench.report.claims.compared_sides import Coords
from fedbench.report.claims.evidence import MeasuredNumbers, Numbers, PrintedNumbers, Repeats
from fedbench.report.claims.tests import Estimate, Limit, of_mean, of_spread

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
        """Per repeat, unweighted; not a number where one of several is not finite."""
        rivals = side_by_side([numbers.values(point) for point in self.points])
        best = min if Metric(str(self.points[0]["metric"])).lower_is_better else max
        return {
            repeat: best(row) if all(map(math.isfinite, row)) else math.nan
            for repeat, row in rivals.items()
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """The sum of the terms and a constant, positive for the claim, and the limit to pass."""

    label: str
    unit: str
    limit: Limit
    terms: tuple[Term, ...]
    constant: float = 0.0
    base: Coords | None = None  # the effect is in percent of the |value| there
    test: ClassVar[str] = "Student's t-test"

    @property
    def points(self) -> tuple[Coords, ...]:
        """Those on all sides."""
        return tuple(point for term in self.terms for point in term.points)

    def is_of_one_run(self, numbers: MeasuredNumbers) -> bool:
        """Whether nothing is left of the sum, as the runs of its terms are the same."""
        sums: dict[frozenset[tuple[str, str]], float] = defaultdict(float)
        for term in self.terms:
            read = set()  # runs, each with the levels that are no axis': metrics, places in tables
            for point in term.points:
                for cell in numbers.cells(point):
                    others = sorted((k, v) for k, v in point.items() if k not in cell.coords)
                    read.add((cell.run_id, str(others)))
            sums[frozenset(read)] += term.weight
        return all(sums) and all(abs(x) < _ROUNDING for x in (*sums.values(), self.constant))

    def effects(self, numbers: Numbers) -> Repeats:
        """The effect of each repeat that all sides have."""
        found: Repeats = {}
        base = {} if self.base is None else numbers.values(self.base)
        for repeat, row in side_by_side([x.values(numbers) for x in self.terms]).items():
            weighed = [term.weight * x for term, x in zip(self.terms, row, strict=True)]
            total = math.fsum([*weighed, self.constant])
            if abs(total) <= 1e-12 * math.fsum(map(abs, [*weighed, self.constant])):
                total = 0.0  # nothing but rounding is left
            if self.base is None:
                found[repeat] = total
            elif repeat in base:
                whole = abs(base[repeat])
                found[repeat] = 100 * total / whole if whole else math.nan
        return found

    def measured(self, numbers: Numbers) -> Estimate:
        """The effect as estimated from the measured pairs."""
        return of_mean(np.array(list(self.effects(numbers).values()), dtype=float))

    def printed(self, numbers: PrintedNumbers) -> float | None:
        """The effect on printed numbers; None where one is not printed."""
        return next(iter(self.effects(numbers).values()), None)


@dataclass(frozen=True, eq=False)
class Speed(Comparison):
    """How many rounds earlier the first of two points reaches `target` than the second.

    Without a target the winner is ahead if it reaches the loser's best before the loser does, and
    behind if the loser does so with its best: of two methods alike, one's best lies above all that
    the other reaches in every second pair. Where models are scored in every e-th round, each of n
    leads is known to within e rounds at either end: the mean's standard error is e/√(6n) at least.
    """

    target: float | None = None  # of a score in percent

    @override
    def effects(self, numbers: Numbers) -> Repeats:
        found: Repeats = {}
        sign = -1.0 if Metric(str(self.points[0]["metric"])).lower_is_better else 1.0
        for repeat, pair in side_by_side([numbers.history(x) for x in self.points]).items():
            winner, loser = (sign * curve for curve in pair)
            if self.target is not None:
                found[repeat] = _earlier(winner, loser, sign * self.target)
            else:
                ahead = _earlier(winner, loser, float(loser.max()))
                behind = _earlier(loser, winner, float(winner.max()))
                found[repeat] = ahead if ahead > 0 else min(0.0, -behind)
        return found

    @override
    def measured(self, numbers: Numbers) -> Estimate:
        estimate = super().measured(numbers)
        curves = [curve for side in self.points for curve in numbers.history(side).values()]
        every = max((float(np.diff(c.index, prepend=0).max()) for c in curves), default=0.0)
        least = every / math.sqrt(6 * max(estimate.pairs, 1))
        return replace(estimate, error=max(estimate.error, least))  # NaN stays: no bounds


def _earlier(first: pd.Series, second: pd.Series, target: float) -> float:
    """How many rounds before the second the first does; never is one after the last planned."""
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
    def printed(self, numbers: PrintedNumbers) -> float | None:
        winner, loser = map(numbers.spread, self.points)
        return None if winner is None or not loser else 100 * (1 - winner / loser)
