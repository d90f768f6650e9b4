"""Verdicts on made-up runs whose truth is known."""

from itertools import product
from math import exp, isnan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from fedbench.paper.grid_points import Substitution
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Cell
from fedbench.report.claims.compared_sides import Coords
from fedbench.report.claims.comparison_tree import expand
from fedbench.report.claims.comparisons import Speed, Term
from fedbench.report.claims.finding import Finding, Label, Void
from fedbench.report.claims.page import tidy
from fedbench.report.claims.tests import ErrorRates, Limit, Verdict, at_least, of_mean, of_spread
from fedbench.report.template_words import say
from tests.project import Refuses
from tests.report.claim_case import BASE, Curve, Values, flat, judge, plan_of

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED
ONE = {"dataset": "Digits", "alpha": 1}  # a place of one cell
AB = {"table": "t", "kind": "greater", "winner": "A", "loser": "B"}
DUEL = AB | {"where": ONE}
ON_BOTH = AB | {"where": {"alpha": 1}}  # data sets
EQUAL = {"table": "t", "where": ONE, "kind": "equal", "of": "A", "to": "B"}


def single(claim: dict[str, Any], values: Values, scale: str = "three") -> Finding:
    """The finding of one claim, without printed numbers."""
    return judge(plan_of({"c": claim}, scale), values)["c"]


def gains(*points: float) -> Values:
    """A is better than all others by so many points with seeds 0, 1, …"""

    def values(cell: Cell) -> Curve | None:
        if cell.seed >= len(points):
            return None
        return flat(50 + 7 * cell.seed + (points[cell.seed] if cell.coords["method"] == "A" else 0))

    return values


def at(points: tuple[float, ...], scale: str = "three", **changes: Any) -> Finding:
    return single(DUEL | changes, gains(*points), scale)


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        ((4, 5, 6), HOLDS),  # 5 ± 4.303 · 1/√3 = [2.516, 7.484], each bound at 97.5 %
        ((2, 3, 4), HOLDS),  # 3 − 2.484
        ((1, 2, 3), UNDECIDED),  # 2 ± 2.484
        ((-4, -5, -6), FAILS),
        ((4, 4, 4), HOLDS),  # no spread, no width
        ((0, 0, 0), UNDECIDED),  # a tie on every seed is no lead
    ],
)
def test_a_lead_over_the_seeds(points: tuple[float, ...], verdict: Verdict) -> None:
    found = at(points)
    assert found.measured.verdict == verdict
    labels = {HOLDS: Label.SUPPORTED, FAILS: Label.NOT_SUPPORTED, UNDECIDED: Label.UNDECIDED}
    assert found.label == labels[verdict]


@pytest.mark.parametrize("points", [(), (40,), (4, 5)])  # a test needs three pairs
def test_a_claim_of_which_runs_are_missing_is_not_tested_yet(points: tuple[float, ...]) -> None:
    found = at(points)
    assert found.measured.verdict == UNDECIDED
    assert found.label == Label.NOT_TESTED
    missing = 6 - 2 * len(points)  # of A and B, three seeds
    assert found.missing == (missing, 6)
    assert told("claims.reason", found, [f"{missing} of its 6 runs are missing"])


def test_the_interval_by_hand() -> None:
    (row,) = at((4, 5, 6)).rows
    assert (row.interval.effect, row.interval.pairs, row.planned) == (pytest.approx(5), 3, 3)
    assert row.interval.low == pytest.approx(5 - 4.302653 / 3**0.5, abs=1e-5)
    assert row.interval.high == pytest.approx(5 + 4.302653 / 3**0.5, abs=1e-5)
    assert (row.interval.low_level, row.interval.high_level) == (0.975, 0.975)
    assert len(row.runs) == 6


def test_seeds_are_paired() -> None:
    # accuracies spread by 14 points over the seeds, differences by 0.2: unpaired nothing is seen
    assert at((0.9, 1.0, 1.1)).measured.verdict == HOLDS


MOST, ONE_CELL = {"where": {}, "cells": "most"}, {"where": {}, "cells": 1}


def shares(found: Finding) -> list[tuple[float, float]]:
    """What each comparison may risk: to hold wrongly, to fail wrongly."""
    return [(row.error_rates.hold, row.error_rates.fail) for row in found.rows]


def test_all_of_several_cells_need_no_correction_to_hold() -> None:
    # 6 of 6: holding at 0.025 / (6 − 6 + 1), failing at 0.025 / 6
    six = at((4, 5, 6), where={})
    assert shares(six) == [(pytest.approx(0.025), pytest.approx(0.025 / 6))] * 6
    assert six.measured.verdict == HOLDS
    low = six.rows[0].interval
    assert low.low == pytest.approx(5 - 4.302653 / 3**0.5, abs=1e-5)
    # t of 1 − 0.025 / 6 with two degrees of freedom: c / √(2 + c²) = 1 − 0.05 / 6 = 0.991667,
    # so c² = 2 · 0.983403 / 0.016597 = 118.50, c = 10.8859
    assert low.high == pytest.approx(5 + 10.8859 / 3**0.5, abs=1e-3)


def test_all_of_several_cells_fail_with_one_that_surely_fails() -> None:
    # one of 2 has to fail at 0.025 / 2: t = 6.2053, so leads of −(4, 5, 6) fail: −5 + 3.583 < 0
    def opposed(*points: float) -> Values:
        behind = gains(*(-x for x in points))
        return lambda c: (behind if c.coords["dataset"] == "Digits" else gains(*points))(c)

    found = single(ON_BOTH, opposed(4, 5, 6))
    assert [row.verdict for row in found.rows] == [HOLDS, FAILS]
    assert found.measured.verdict == FAILS
    # −(2, 3, 4): −3 + 3.583 is not below 0, while one claim alone would fail: −3 + 2.484
    assert single(ON_BOTH, opposed(2, 3, 4)).measured.verdict == UNDECIDED
    assert at((-2, -3, -4)).measured.verdict == FAILS


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"where": {}}, (1, 6)),  # k = 6 of n = 6: n − k + 1 = 1 to hold, k = 6 to fail
        ({"where": {}, "cells": 1}, (6, 1)),
        ({"where": {}, "cells": "most"}, (3, 4)),  # 4 of 6
        ({"where": {}, "cells": "mean"}, (1, 1)),
        ({"where": {}, "negate": True}, (6, 1)),  # one of 6 denied
        ({"where": {}, "cells": "most", "negate": True}, (4, 3)),  # 3 of 6 denied
        ({"loser": "others"}, (1, 2)),  # B and C
        ({"loser": "others", "place": 2}, (2, 1)),  # one of the two
        ({"winner": ["A", "B"], "loser": "C"}, (1, 2)),
        ({"winner": ["A", "B"], "loser": "C", "winners": "one"}, (2, 1)),
        # 4 of 6 cells, in each one of two winners: 3 · 2 to hold, 4 · 1 to fail
        (MOST | {"winner": ["A", "B"], "loser": "C", "winners": "one"}, (6, 4)),
        # one of 6 cells, in each both of two winners before all rivals but one of two: 6 · 1 · 2
        (ONE_CELL | {"winner": ["A", "B"], "loser": ["C", "trick"], "place": 2}, (12, 2)),
    ],
)
def test_nested_statements_divide_the_risk(
    claim: dict[str, Any], expected: tuple[int, int]
) -> None:
    found = single(DUEL | claim, lambda _: None)  # whatever was run
    hold, fail = expected
    assert shares(found) == [pytest.approx((0.025 / hold, 0.025 / fail))] * len(found.rows)


def test_claims_together_divide_the_risk_of_failing() -> None:
    claims: dict[str, dict[str, Any]] = {"a": DUEL, "b": ON_BOTH}
    both = {"kind": "together", "claims": ["a", "b"]}
    plan = plan_of(claims | {"both": both, "not_both": both | {"negate": True}})
    found = judge(plan, lambda _: None)
    one, two = pytest.approx((0.025, 0.0125)), pytest.approx((0.025, 0.00625))
    assert shares(found["both"]) == [one, two, two]
    assert shares(found["not_both"]) == [one, two, two]


def test_what_was_not_run_counts_as_undecided() -> None:
    def values(cell: Cell) -> Curve | None:
        return gains(2, 3, 4)(cell) if cell.coords["dataset"] == "Digits" else None

    found = single(ON_BOTH, values)
    assert found.measured.verdict == UNDECIDED  # the other cell is missing
    assert [len(row.missing) for row in found.rows] == [6, 0]
    # one of two: 0.0125 whether or not the other was run, 3 − 3.583; alone it would hold
    enough = single(ON_BOTH | {"cells": 1}, values)
    assert enough.measured.verdict == UNDECIDED
    assert single(DUEL, values).measured.verdict == HOLDS


def test_a_missing_seed_leaves_its_pair_out() -> None:
    def values(cell: Cell) -> Curve | None:
        gone = cell.coords["method"] == "B" and cell.seed == 1
        return None if gone else gains(4, 5, 6)(cell)

    found = single(DUEL, values)
    assert (found.rows[0].planned, found.measured.verdict) == (3, UNDECIDED)
    assert (found.rows[0].interval.pairs, found.rows[0].interval.is_test) == (2, False)
    assert len(found.rows[0].missing) == 1


def test_a_diverged_run_counts_with_what_it_ended_with() -> None:
    def values(cell: Cell) -> Curve | None:
        if cell.coords["method"] == "B" and cell.seed == 2:
            return [10.0]
        return gains(4, 5, 6)(cell)

    (row,) = single(DUEL, values).rows
    assert row.interval.effect == pytest.approx((4 + 5 + 60) / 3)  # 50 + 14 + 6 − 10
    assert row.verdict == UNDECIDED
    assert (row.diverged, row.at_chance) == (1, 1)


def test_a_value_that_is_not_finite_decides_nothing() -> None:
    def values(cell: Cell) -> Curve | None:
        bad = cell.coords["method"] == "B" and cell.seed == 2
        return [float("nan")] if bad else gains(4, 5, 6)(cell)

    (row,) = single(DUEL, values).rows
    assert (row.verdict, row.effect, row.interval.is_test) == (UNDECIDED, None, False)


def test_ten_seeds_take_students_t_like_nine() -> None:
    # nine leads of 1 and one of 10: mean 1.9, s = √(9 · 0.81 + 65.61) / 3 = 2.846, t = 2.2622
    found = at((*[1.0] * 9, 10.0), "full")
    (row,) = found.rows
    assert row.interval.pairs == 10
    assert row.interval.effect == pytest.approx(1.9)
    assert row.interval.low == pytest.approx(1.9 - 2.262157 * 0.9, abs=1e-5)  # 2.846 / √10 = 0.9
    assert found.measured.verdict == UNDECIDED


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("risk", [0.05, 0.005])
def test_the_smallest_detectable_effect_of_three_pairs(power: float, risk: float) -> None:
    # With two degrees of freedom s / σ = w has the density 2 w exp(−w²), so that the power at d
    # has a closed form: Φ(d) − c / √(c² + 2) · exp(−d² / (c² + 2)) · Φ(c d / √(c² + 2)).
    found = of_mean(np.array([4.0, 5.0, 6.0]))
    d = found.reach(0, risk, 1, power) * 3**0.5  # in standard errors of 1 / √3
    c = (1 - 2 * risk) * (2 / (1 - (1 - 2 * risk) ** 2)) ** 0.5  # t = x √(2 / (1 − x²))
    a = c * c + 2
    cdf = NormalDist().cdf
    reached = cdf(d) - c / a**0.5 * exp(-d * d / a) * cdf(c * d / a**0.5)
    assert reached == pytest.approx(power, abs=1e-6)


def test_the_smallest_detectable_effect_by_hand() -> None:
    # 0.9960 s for ten pairs at a risk of 2.5 % (tables of the paired t-test); s = 2.846
    (row,) = at((*[1.0] * 9, 10.0), "full").rows
    assert row.detectable == pytest.approx(0.9960 * 2.846, abs=1e-3)
    (beyond,) = at((*[1.0] * 9, 10.0), "full", by=3).rows
    assert beyond.detectable == pytest.approx(3 + 0.9960 * 2.846, abs=1e-3)
    (denied,) = at((*[1.0] * 9, 10.0), "full", by=3, negate=True).rows
    assert denied.detectable == pytest.approx(3 - 0.9960 * 2.846, abs=1e-3)
    (constant,) = at((4, 4, 4)).rows
    assert isnan(constant.detectable)


def test_a_difference_that_never_varies_is_no_test() -> None:
    (row,) = at((4, 4, 4)).rows
    assert row.interval.low == row.interval.high == pytest.approx(4)
    assert row.verdict == HOLDS
    assert isnan(row.interval.low_level)
    assert "no spread to test" in say("claims.note", row)


def test_a_tiny_p_value_is_told_by_its_bound() -> None:
    found = at((*[5.0] * 9, 5.001), "full")
    assert found.rows[0].p < 0.0001
    assert told("claims.reason", found, ["+5.00 points", "p < 0.0001"])


def told(name: str, of: object, facts: list[str]) -> bool:
    """Whether the words say all of these facts, in this order."""
    said, at = say(name, of), 0
    for fact in facts:
        at = said.find(fact, at)
        if at < 0:
            return False
        at += len(fact)
    return True


def test_a_verdict_comes_with_how_it_was_reached() -> None:
    found = at((4, 5, 6), where={})
    # t is 5.653 off zero for a power of 80 % with two degrees of freedom: 5.653 / √3 = 3.264
    assert told("claims.basis", found, ["Student", "6 ", "97.5 %", "99.58 %", "80 %", "+3.26"])
    assert told("claims.basis", at((4, 4, 4)), ["1 comparison", "1 decided without"])
    assert say("claims.basis", at(())) == ""
    # both tests must hold, either may fail; a margin is shown by two tests of 90 % power each
    claim = EQUAL | {"where": {"alpha": 1}, "margin": 3}
    equal = single(claim, gains(4, 5, 6))
    assert told("claims.basis", equal, ["97.5 %", "99.38 %", "margin", "±3.92 points"])
    assert [row.detects_margins for row in equal.rows] == [True, True]


def test_effects_and_margins_are_told_apart() -> None:
    # of the spread 1 over three pairs, each claim with its own: 5.653 / √3, and a margin of 3.92
    both = {
        "a": ON_BOTH,
        "b": EQUAL | {"where": {"alpha": 1}, "margin": 3},
        "c": {"kind": "together", "claims": ["a", "b"]},
    }
    found = judge(plan_of(both), gains(4, 5, 6))["c"]
    shown = [(row.detects_margins, round(row.detectable, 2)) for row in found.rows]
    assert shown == [(False, 3.26)] * 2 + [(True, 3.92)] * 2
    assert told("claims.basis", found, ["effect", "+3.26 points", "margin", "±3.92 points"])


@pytest.mark.parametrize(
    ("changes", "points", "verdict"),
    [
        ({"by": 2.5}, (4, 5, 6), HOLDS),  # [2.516, 7.484]
        ({"by": 2.6}, (4, 5, 6), UNDECIDED),
        ({"by": 7.5}, (4, 5, 6), FAILS),
        ({"by": -2.5}, (-1, 0, 1), HOLDS),  # not worse by more than 2.5: 0 − 2.484
        ({"by": -2.4}, (-1, 0, 1), UNDECIDED),
        ({"wins": "low"}, (4, 5, 6), FAILS),
        ({"loser": 49}, (4, 5, 6), UNDECIDED),  # A has 54, 62, 70: 13 ± 19.87
        ({"loser": 30}, (4, 5, 6), HOLDS),
        ({"winner": 90, "loser": "A"}, (4, 5, 6), HOLDS),
    ],
)
def test_margins_and_thresholds(
    changes: dict[str, Any], points: tuple[float, ...], verdict: Verdict
) -> None:
    assert at(points, **changes).measured.verdict == verdict


def test_a_relative_lead_is_in_percent_of_the_loser() -> None:
    def values(cell: Cell) -> Curve | None:
        return flat(60 if cell.coords["method"] == "A" else 50)

    found = single(DUEL | {"relative": True, "by": 19}, values)
    assert found.rows[0].interval.effect == pytest.approx(20)
    assert (found.rows[0].unit, found.measured.verdict) == ("%", HOLDS)


@pytest.mark.parametrize(
    ("margin", "points", "verdict"),
    [
        (2.5, (-1, 0, 1), HOLDS),  # 0 ± 2.484 inside ± 2.5: both bounds at 97.5 %
        (2.4, (-1, 0, 1), UNDECIDED),  # too few seeds to say
        (
            1.4,
            (4, 5, 6),
            FAILS,
        ),  # either side may fail, so at 98.75 %: [1.417, 8.583] is beyond 1.4
        (1.4, (-4, -5, -6), FAILS),
        (1.5, (4, 5, 6), UNDECIDED),
        (0.5, (0, 0, 0), HOLDS),  # a tie is equal
        (9, (1, 1), UNDECIDED),
    ],
)
def test_equal_is_two_one_sided_tests(
    margin: float, points: tuple[float, ...], verdict: Verdict
) -> None:
    found = single(EQUAL | {"margin": margin}, gains(*points))
    assert found.measured.verdict == verdict


def by_method(**values: float) -> Values:
    """The same accuracy with each seed; others have 0."""
    return lambda cell: flat(values.get(str(cell.coords["method"]), 0))


def by_alpha(**methods: tuple[float, float, float]) -> Values:
    """Accuracies at α = 1, 0.1 and 0.01 by method, the same with each seed; others have 0."""
    column = {1: 0, 0.1: 1, 0.01: 2}

    def values(cell: Cell) -> Curve | None:
        row = methods.get(str(cell.coords["method"]), (0, 0, 0))
        return flat(row[column[float(cell.coords["alpha"])]])

    return values


DIGITS = {"table": "t", "where": {"dataset": "Digits"}}
FALL = {"alpha": [1, 0.1, 0.01]}


@pytest.mark.parametrize(
    ("claim", "a", "verdict"),
    [
        ({"of": "A"}, (10, 20, 40), HOLDS),
        ({"of": "A"}, (10, 20, 15), FAILS),
        ({"of": "A"}, (10, 10, 20), UNDECIDED),
        ({"of": "A", "steps": "overall"}, (10, 20, 15), HOLDS),  # the line rises by 5
        ({"of": "A", "steps": "overall", "by": 6}, (10, 20, 15), FAILS),
        ({"of": "A", "minus": "B"}, (31, 42, 53), HOLDS),  # gaps of 1, 2 and 3 to 30, 40, 50
        ({"of": "A", "minus": "B"}, (31, 41, 51), UNDECIDED),  # 1, 1 and 1, but for rounding
        ({"of": "A", "minus": "others"}, (31, 42, 53), HOLDS),
        ({"of": ["A", "B"], "minus": "C"}, (0, 0, 0), HOLDS),  # the best of the two is B
    ],
)
def test_trends_and_gaps(
    claim: dict[str, Any], a: tuple[float, float, float], verdict: Verdict
) -> None:
    values = by_alpha(A=a, B=(30, 40, 50), C=(29, 38, 46))
    found = single(DIGITS | {"kind": "trend", "along": FALL} | claim, values)
    assert found.measured.verdict == verdict


def test_a_gap_between_two_places() -> None:
    claim = {"kind": "trend", "table": "t", "of": "A", "minus": "B"}
    along = {"along": {"alpha": [1, 0.01], "dataset": ["MNIST", "Digits"]}}
    found = single(claim | along, by_alpha(A=(31, 0, 53), B=(30, 0, 50)))
    assert len(found.rows) == 1
    assert found.rows[0].interval.effect == pytest.approx(2)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"winner": "A"}, HOLDS),  # 'others' are B and C; the control has 99
        ({"winner": "B"}, FAILS),
        ({"winner": "B", "place": 2}, HOLDS),
        ({"winner": "C", "place": 2}, FAILS),
        ({"winner": ["A", "B"]}, HOLDS),  # each of them against C
        ({"winner": ["B", "C"], "loser": "A", "winners": "one"}, FAILS),
        ({"winner": ["A", "C"], "loser": "B", "winners": "one"}, HOLDS),
        ({"winner": ["A", "C"], "loser": "B"}, FAILS),
        ({"winner": "others", "loser": "C"}, HOLDS),  # C is the worst
        ({"winner": "A", "loser": "trick"}, FAILS),  # a control can be named
    ],
)
def test_the_best_the_second_the_worst(claim: dict[str, Any], verdict: Verdict) -> None:
    asked = {"table": "t", "where": ONE, "kind": "greater"} | claim
    found = single(asked, by_method(A=50, B=40, C=30, trick=99))
    assert found.measured.verdict == verdict


def test_a_star_pairs_levels() -> None:
    values = by_method(**{"A": 50, "B": 40, "A+X": 51, "B+X": 39})
    claim = {"grid": "star", "kind": "greater", "winner": "*+X", "loser": "*"}
    found = single(claim, values)
    assert [(row.label, row.verdict) for row in found.rows] == [
        ("A+X against A", HOLDS),
        ("B+X against B", FAILS),
    ]
    assert [name.split(",")[0] for name, _ in found.measured.parts] == ["A", "B"]


NAMED = """
  named:
    axes: {dataset: [Digits], alpha: [1], method: [A, B*, C, BX, CX]}
    seeds: [0]
tables:"""


@pytest.mark.parametrize(
    ("winner", "loser", "pairs"),
    [
        ("B*", "A", ["B* against A"]),
        ("B*", "others", [f"B* against {x}" for x in ("A", "C", "BX", "CX")]),
        ("A", "B*", ["A against B*"]),
        ("*X", "B*", ["BX against B*", "CX against B*"]),
        ("*X", "*", ["CX against C"]),  # there is no method B
    ],
)
def test_the_name_of_a_level_is_no_pattern(winner: str, loser: str, pairs: list[str]) -> None:
    names = BASE.replace("    A+X:", "    B*: {parts: [asd]}\n    BX: {parts: [moon]}\n    A+X:")
    names = names.replace("    A+X:", "    CX: {parts: [fedntd]}\n    A+X:", 1)
    claim = {"text": "c", "grid": "named", "kind": "greater", "winner": winner, "loser": loser}
    paper = Paper(**yaml.safe_load(names.replace("\ntables:", NAMED)), claims={"c": claim})
    found = expand("c", paper.claims["c"], paper)
    assert [each.label for each in found.comparisons()] == pairs


@pytest.mark.parametrize(
    ("kind", "cells"),
    [("equal", "every"), ("equal", "mean"), ("greater", "mean"), ("spread", 1), ("earlier", 1)],
)
def test_a_run_is_not_compared_with_itself(kind: str, cells: object) -> None:
    sides = ("of", "to") if kind == "equal" else ("winner", "loser")
    claim = {"grid": "twice", "kind": kind, **dict(zip(sides, "AB", strict=True))}
    claim |= {"margin": 1} if kind == "equal" else {}
    values = gains(4, 5, 6)
    found = single(claim | {"where": {"dataset": "Digits"}, "cells": cells}, values)
    (row,) = found.rows
    assert (found.label.value, row.as_claimed) == ("not tested", None)
    assert row.void is Void.SAME_RUNS
    assert told("claims.reason", found, ["the runs are compared with themselves"])
    one = single(claim | {"where": {"dataset": "MNIST"}, "cells": cells}, values)
    assert one.rows[0].void is None


def test_runs_that_a_scale_makes_the_same_are_not_compared_with_themselves() -> None:
    claim = {"grid": "main", "kind": "greater", "where": {"method": "A", "alpha": 1}}
    claim |= {"winner": {"dataset": "MNIST"}, "loser": {"dataset": "Digits"}}
    (row,) = single(claim, gains(4, 5, 6), "small").rows
    assert row.void is Void.SAME_RUNS


def test_one_run_at_two_moments_is_a_comparison() -> None:
    claim = {"grid": "twice", "kind": "equal", "where": {"dataset": "Digits", "method": "A"}}
    claim |= {"of": {"metric": "accuracy@best"}, "to": {"metric": "accuracy"}, "margin": 1}
    (row,) = single(claim, gains(4, 5, 6)).rows
    assert (row.verdict, row.void) == (HOLDS, None)


def shaky(cell: Cell) -> Curve:
    """A spreads over the seeds by ± 1, B by ± 10, but in another order."""
    size, shift = (1, 0) if cell.coords["method"] == "A" else (10, 3)
    return flat(50 + size * (-1, 0, 1, 1, -1, 0, 1, -1, 0.5, -0.5)[(cell.seed + shift) % 10])


@pytest.mark.parametrize(("winner", "verdict"), [("A", HOLDS), ("B", FAILS)])
def test_who_spreads_less(winner: str, verdict: Verdict) -> None:
    loser = "B" if winner == "A" else "A"
    claim = DUEL | {"kind": "spread", "winner": winner, "loser": loser}
    found = single(claim, shaky, "full")
    assert found.measured.verdict == verdict
    (row,) = found.rows
    assert row.interval.effect == pytest.approx(90 if winner == "A" else -900)
    same = single(claim, lambda _: flat(50), "full")
    assert (same.rows[0].effect, same.rows[0].interval.is_test) == (0, False)


def test_repeats_of_a_table_are_the_levels_that_it_means() -> None:
    def values(cell: Cell) -> Curve:
        ahead = {1: 4.0, 0.1: 2.0, 0.01: 40.0}[float(str(cell.coords["alpha"]))]
        return flat(50 + (ahead if cell.coords["method"] == "A" else 0))

    (row,) = single(AB | {"table": "both", "where": {"dataset": "Digits"}}, values).rows
    assert row.effect == pytest.approx(3.0)
    assert row.interval.pairs == 6


def test_no_spread_over_other_axes_than_seeds(refuses: Refuses) -> None:
    with refuses("both takes means over others; name its grid"):
        single(AB | {"table": "both", "kind": "spread"}, shaky)


def test_a_tie_has_no_sign() -> None:
    def values(cell: Cell) -> Curve:
        ahead = {1: 4.0, 0.1: 0.0, 0.01: -4.0}[float(str(cell.coords["alpha"]))]
        return flat(50 + cell.seed + (ahead if cell.coords["method"] == "A" else 0))

    found = single(AB | {"where": {"dataset": "Digits"}, "cells": "most"}, values)
    assert [row.as_claimed for row in found.rows] == [True, None, False]
    assert found.signs == (1, 2)


def test_spreads_that_go_together_exactly_are_not_tested() -> None:
    # B is 50 + 10 · (A − 50) in each of three seeds, as coarse values may be by chance
    def values(cell: Cell) -> Curve:
        return flat(50 + (1 if cell.coords["method"] == "A" else 10) * (cell.seed - 1))

    found = single(DUEL | {"kind": "spread"}, values)
    assert found.label == Label.UNDECIDED
    assert found.rows[0].effect == pytest.approx(90)
    assert not found.rows[0].interval.is_test


@pytest.mark.parametrize(
    ("target", "a", "b", "rounds", "verdict"),
    [
        (None, [10, 40, 50, 60], [10, 20, 30, 40], 2, HOLDS),  # 2 against 4
        (45, [10, 40, 50, 60], [10, 20, 30, 40], 2, HOLDS),  # 3 against never: 5
        (70, [10, 40, 50, 60], [10, 20, 30, 40], 0, UNDECIDED),  # both never: a tie
        (None, [10, 20, 30, 35], [10, 40, 30, 30], -2, FAILS),  # B is at 35, A's best, in round 2
        (None, [10, 20, 30, 35], [10, 20, 30, 40], 0, UNDECIDED),  # neither is earlier at a best
        (None, [10, 30], [10, 20, 30, 40], 0, UNDECIDED),  # nor here, where A diverged at 30
        (35, [10, 40], [10, 20, 30, 40], 2, HOLDS),  # there in round 2, before it diverged
        (35, [10, 20, 40, 40], [10], 2, HOLDS),  # 3 against never: 5, not 2
    ],
)
def test_rounds_to_an_accuracy(
    target: float | None, a: Curve, b: Curve, rounds: int, verdict: Verdict
) -> None:
    asked = DUEL | {"kind": "earlier"} | ({"target": target} if target else {})
    found = single(asked, lambda cell: a if cell.coords["method"] == "A" else b)
    assert (found.rows[0].interval.effect, found.measured.verdict) == (rounds, verdict)


def test_whole_curves_are_compared_once_whatever_moments_a_table_shows() -> None:
    asked = DUEL | {"kind": "earlier", "metrics": ["accuracy@mean", "accuracy@2", "round@to:0.3"]}
    found = single(asked, gains(5, 6, 7))
    assert [row.metric for row in found.rows] == ["accuracy@final"]


def test_a_tie_of_means_is_no_difference_of_a_sign() -> None:
    found = of_mean(np.array([0.1, 0.2, -0.3]))  # whose sum is 5.6e-17
    assert found.effect == 0


def test_never_is_later_than_any_round_of_either() -> None:
    # A, planned for 3 rounds, never reaches 50; B does in round 10 of 10: B is one round ahead
    numbers = alike(A=pd.Series([10, 20, 30], [1, 2, 3]), B=pd.Series([0.0, 50], [5, 10]))
    duel = speed(*sides("accuracy"), target=50)
    # all seeds alike: the error is that of B, which is scored every fifth round: 5/√(6 · 3)
    found = duel.measured(numbers)
    assert (found.effect, found.error) == (-1, pytest.approx(5 / sqrt(18)))


def test_of_two_methods_alike_neither_is_found_slower() -> None:
    # the best of a curve is its luckiest round, which the other reaches in every second pair alone
    draw, verdicts = np.random.default_rng(0), []
    a, b = sides("accuracy")
    for _ in range(100):
        curves = {
            side: {str(seed): pd.Series(50 + draw.normal(0, 1, 20), range(1, 21)) for seed in "012"}
            for side in "AB"
        }
        numbers = Drawn(curves)
        verdicts += [
            duel.limit.verdict(duel.measured(numbers), ErrorRates(0.05, 0.05))
            for duel in (speed(a, b), speed(b, a))
        ]
    assert verdicts.count(FAILS) <= 12
    assert verdicts.count(HOLDS) <= 12


class Drawn:
    """Curves by side and seed."""

    def __init__(self, curves: dict[str, dict[str, pd.Series]]) -> None:
        self.curves = curves

    def history(self, point: Coords) -> dict[str, pd.Series]:
        return self.curves[str(point["method"])]


def alike(**curves: pd.Series) -> Drawn:
    """Three seeds with the same curve, by side."""
    return Drawn({side: dict.fromkeys("012", curve) for side, curve in curves.items()})


def scored(**sides: list[float]) -> Drawn:
    """Three seeds, scored in rounds 10, 20 and 30; accuracies by side."""
    return alike(**{side: pd.Series(values, [10, 20, 30]) for side, values in sides.items()})


def speed(winner: Coords, loser: Coords, target: float | None = None) -> Speed:
    """By how many rounds the winner is ahead."""
    terms = (Term(1.0, (winner,)), Term(-1.0, (loser,)))
    return Speed("", "rounds", Limit(0.0), terms, target=target)


def sides(metric: str) -> list[Coords]:
    """A and B, compared by this metric."""
    return [{"method": method, "metric": metric} for method in "AB"]


def test_rounds_are_known_no_better_than_models_are_scored() -> None:
    # all three seeds lead by 10 rounds: error 10/√(6 · 3) = 2.357, t with 2 degrees of freedom is
    # 2.920 at a risk of 5 % and 9.925 at 0.5 %: 10 − 6.88 is above 0, 10 − 23.39 is not
    duel = speed(*sides("accuracy"), target=50)
    found = duel.measured(scored(A=[50, 60, 70], B=[40, 50, 70]))
    assert (found.effect, found.error) == (10, pytest.approx(2.357, abs=1e-3))
    assert found.interval(0.05, 0.05).low == pytest.approx(10 - 6.88, abs=0.01)
    assert duel.limit.verdict(found, ErrorRates(0.05, 0.05)) == HOLDS
    assert duel.limit.verdict(found, ErrorRates(0.005, 0.005)) == UNDECIDED


@pytest.mark.parametrize(
    ("kind", "more"),
    [("spread", {}), ("earlier", {}), ("greater", {"relative": True})],
)
def test_a_mean_is_of_plain_differences(
    refuses: Refuses, kind: str, more: dict[str, object]
) -> None:
    with refuses("cells: mean"):
        plan_of({"c": AB | {"kind": kind, "cells": "mean"} | more})


@pytest.mark.parametrize(("target", "rounds"), [(0.5, 10), (None, 0)])
def test_a_loss_is_reached_from_above(target: float | None, rounds: int) -> None:
    # A is at 0.5 in round 10, B in round 20; B's best, 0.3, both reach in round 30
    duel = speed(*sides("loss"), target=target)
    assert duel.measured(scored(A=[0.5, 0.4, 0.3], B=[0.7, 0.5, 0.3])).effect == rounds


RAGGED = """
  ragged:
    axes: {dataset: [Digits], alpha: [1, 0.1], method: [A, B, C]}
    seeds: [0]
    without: [{alpha: 0.1, method: C}]
tables:"""


def test_a_mean_needs_the_same_comparisons_in_every_cell(refuses: Refuses) -> None:
    # 'others' are B and C at α = 1, and B alone at α = 0.1
    claim = {"text": "c", "grid": "ragged", "kind": "greater", "winner": "A", "cells": "mean"}
    paper = Paper(**yaml.safe_load(BASE.replace("\ntables:", RAGGED)), claims={"c": claim})
    words = "c.cells = mean, but .*α = 1, Accuracy compares A against B; A against C, and "
    with refuses(words):
        expand("c", paper.claims["c"], paper)


def test_a_target_is_reached_by_the_very_number_that_a_table_shows() -> None:
    duel = speed(*sides("accuracy"), target=29)
    assert 100 * 0.29 < 29
    assert duel.measured(scored(A=[100 * 0.29, 30, 30], B=[0, 29, 30])).effect == 10


def test_the_bounds_of_a_spread_by_hand() -> None:
    # deviations in the ratio 1 : 4, r = 0, n = 4, t of 95 % with 2 degrees of freedom 2.92:
    # asinh(2.92 · √(1 / 2)) = ln(2.0647 + √(1 + 2.0647²)) = ln 4.3588; 0.25 · and / 4.3588. Check:
    # at ω = 1.0897 the correlation of x/ω + y and x/ω − y is (0.8421 − 16) / (0.8421 + 16) = −0.9,
    # and its t is −0.9 · √2 / √(1 − 0.81) = −2.92.
    found = of_spread(np.array([1.0, -1, 1, -1]), 4 * np.array([1.0, 1, -1, -1]))
    assert found.effect == pytest.approx(75)
    bounds = found.interval(0.05, 0.05)
    assert bounds.low == pytest.approx(100 * (1 - 1.0897), abs=0.01)
    assert bounds.high == pytest.approx(100 * (1 - 0.25 / 4.3588), abs=0.01)


def test_a_diverged_winner_is_averaged_to_the_planned_rounds() -> None:
    # A: (80 + 10 + 10 + 10) / 4 = 27.5, not (80 + 10) / 2 = 45; B: 40
    def values(cell: Cell) -> Curve:
        return [80, 10] if cell.coords["method"] == "A" else flat(40)

    found = single(DUEL | {"metrics": ["accuracy@mean"]}, values)
    assert found.rows[0].interval.effect == pytest.approx(-12.5)
    assert found.measured.verdict == FAILS
    # how much a lost model varies is not known, so nothing is decided on it
    steady = single(DUEL | {"metrics": ["accuracy@std"]}, values)
    assert (steady.measured.verdict, steady.rows[0].effect) == (UNDECIDED, None)


def test_metrics_are_an_axis_and_name_their_moment() -> None:
    def drop(cell: Cell) -> Curve:
        return [10, 60, 50, 30 if cell.coords["method"] == "B" else 59]

    sides = {"winner": {"metric": "accuracy@best"}, "loser": {"metric": "accuracy@final"}}
    claim = {"grid": "main", "kind": "greater", "where": ONE | {"method": ["A", "B"]}, "by": 20}
    found = single(claim | sides, drop)
    assert [(r.cell, r.verdict) for r in found.rows] == [
        ("Digits, α = 1, A", FAILS),
        ("Digits, α = 1, B", HOLDS),
    ]
    late = DUEL | {"metrics": ["accuracy@2", "accuracy@9"]}
    rows = single(late, drop).rows
    assert [(row.too_late, row.possible) for row in rows] == [(False, True), (True, False)]


def test_a_table_gives_its_moment() -> None:
    claim = DUEL | {"table": "best"}
    best = single(claim, lambda c: [90 if c.coords["method"] == "A" else 50, 50, 50, 50])
    assert best.measured.verdict == HOLDS
    assert best.rows[0].cell == "Digits, α = 1, Accuracy, best"


def by_dataset(mnist: float, digits: float) -> Values:
    """A is better than all others by so many points, the same with each seed."""
    lead = {"MNIST": mnist, "Digits": digits}
    return lambda c: flat(50 + lead[str(c.coords["dataset"])] * (c.coords["method"] == "A"))


@pytest.mark.parametrize(
    ("cells", "points", "verdict"),
    [
        ("every", (8, 8), HOLDS),
        ("every", (8, -8), FAILS),
        ("every", (8, 0), UNDECIDED),
        (1, (8, -8), HOLDS),
        ("most", (8, -8), FAILS),
        ("mean", (8, -6), HOLDS),  # +1 on average
        ("mean", (8, -8), UNDECIDED),
    ],
)
def test_in_how_many_cells(cells: str | int, points: tuple[float, float], verdict: Verdict) -> None:
    found = single(ON_BOTH | {"cells": cells}, by_dataset(*points))
    assert found.measured.verdict == verdict
    assert len(found.rows) == (1 if cells == "mean" else 2)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_at_least_is_decided_as_soon_as_it_can_be(k: int) -> None:
    for verdicts in product(Verdict, repeat=3):
        worst = sum(v == HOLDS for v in verdicts)
        best = sum(v != FAILS for v in verdicts)
        expected = HOLDS if worst >= k else FAILS if best < k else UNDECIDED
        assert at_least(k, verdicts) == expected


def test_a_substitute_shows_something_and_tests_nothing() -> None:
    found = single(ON_BOTH, gains(8, 8, 8), "small")
    assert (found.label, found.signs) == (Label.NOT_TESTED, (2, 2))
    assert told("claims.reason", found, ["dataset digits", "mnist", "sign as claimed in 2 of 2"])
    against = single(ON_BOTH, gains(-8, -8, -8), "small")
    assert against.label == Label.NOT_SUPPORTED  # the cell that is the paper's own decides
    assert found.substituted[0] == Substitution("dataset", "digits", "mnist")
    digits = single(DUEL, gains(8, 8, 8), "small")
    assert digits.label == Label.SUPPORTED  # this cell is the paper's own


def test_the_papers_own_cells_decide_alone_where_they_can() -> None:
    # the claim of every cell fails on Digits, which is no substitute
    against = single(ON_BOTH, gains(-8, -8, -8), "small")
    assert against.label == Label.NOT_SUPPORTED
    one = ON_BOTH | {"cells": 1}
    assert single(one, gains(8, 8, 8), "small").label == Label.SUPPORTED


def test_levels_that_a_scale_leaves_out_stay_undecided() -> None:
    found = single(ON_BOTH, gains(7, 8, 9), "left")
    assert found.label == Label.NOT_TESTED
    assert [say("claims.verdict", row) for row in found.rows] == ["", "supported"]
    assert sum(row.planned > 0 for row in found.rows) == 1
    assert told("claims.reason", found, ["1 of 2 comparisons are not run", "+8.00 points ["])
    assert single(ON_BOTH, gains(-8, -8, -8), "left").could == {FAILS}


@pytest.mark.parametrize(
    ("claim", "could"),
    [
        ({}, {FAILS}),  # all of the three cells, of which the scale runs those on Digits
        ({"cells": 1}, {HOLDS}),
        ({"negate": True}, {HOLDS}),
        ({"negate": True, "cells": 1}, {FAILS}),
    ],
)
def test_what_a_scale_could_show_of_a_claim(claim: dict[str, object], could: set[Verdict]) -> None:
    found = single(ON_BOTH | claim, gains(-1, 0, 1), "left")
    assert found.could == could
    assert found.tested == (HOLDS in could)


def test_one_seed_cannot_decide_a_claim() -> None:
    found = single(DUEL, gains(7, 8, 9), "one")
    assert (found.label, found.could) == (Label.NOT_TESTED, set())
    assert told("claims.reason", found, ["1 seed where a test needs 3", "+7.00 points"])


def test_claims_that_are_joined_could_show_what_their_members_could() -> None:
    claims = {
        "every": ON_BOTH,  # could fail
        "digits": DUEL,  # could hold or fail
        "both": {"kind": "together", "claims": ["every", "digits"]},
        "not_both": {"kind": "together", "claims": ["every", "digits"], "negate": True},
    }
    found = judge(plan_of(claims, "left"), gains(-1, 0, 1))
    could = {name: set(each.could) for name, each in found.items()}
    assert could == {
        "every": {FAILS}, "digits": {HOLDS, FAILS}, "both": {FAILS}, "not_both": {HOLDS},
    }  # fmt: skip


def test_runs_that_end_near_chance_are_counted() -> None:
    (row,) = single(DUEL, by_method(A=15.1, B=15.2)).rows  # 36 of 355 and five points
    assert row.at_chance == 3


def test_a_claim_of_which_a_scale_has_no_run_is_not_tested() -> None:
    mnist = DUEL | {"where": {"alpha": 1, "dataset": "MNIST"}}
    found = single(mnist, gains(7, 8, 9), "left")
    assert found.label == Label.NOT_TESTED
    assert not any(row.planned for row in found.rows)
    assert say("claims.reason", found) == "not run at this scale"


def test_together_is_all_of_them() -> None:
    claims = {
        "a": DUEL,
        "b": DUEL | {"by": 100},
        "both": {"kind": "together", "claims": ["a", "b"]},
        "self": {"kind": "together", "claims": ["a", "a"]},
        "not_both": {"kind": "together", "claims": ["a", "b"], "negate": True},
    }
    found = judge(plan_of(claims), gains(8, 8, 8))
    assert found["both"].label == Label.NOT_SUPPORTED
    assert found["self"].label == found["not_both"].label == Label.SUPPORTED
    assert [member.key for member in found["both"].members] == ["a", "b"]
    assert told("claims.reason", found["both"], ["“a” supported", "“b” not supported"])


PRINTED = """t,MNIST,alpha=1,A,accuracy,60.0,1.0
t,MNIST,alpha=1,B,accuracy,55.0,2.0
t,MNIST,alpha=1,C,accuracy,50.0,2.0
t,MNIST,alpha=0.1,A,accuracy,50.0,2.0
t,MNIST,alpha=0.1,B,accuracy,50.0,1.0
t,MNIST,alpha=0.01,A,accuracy,40.0,1.0
t,MNIST,alpha=0.01,B,accuracy,41.5,1.0
small,Digits,alpha=1,A,accuracy,0.905,0.01
small,Digits,alpha=1,B,accuracy,0.900,0.02
"""

ON_MNIST = {"where": {"dataset": "MNIST", "alpha": 1}}


def on_paper(claim: dict[str, Any]) -> Finding:
    """The finding of one claim before any run, with these printed numbers."""
    return judge(plan_of({"c": claim}), lambda _: None, PRINTED)["c"]


@pytest.mark.parametrize(
    ("claim", "verdict", "cells", "exceptions"),  # of so many cells so many printed, so many hold
    [
        (AB, FAILS, (6, 3, 1), {"MNIST, α = 0.1": 0, "MNIST, α = 0.01": -1.5}),
        (
            EQUAL | {"margin": 1.5, "where": {"dataset": "MNIST", "alpha": [0.1, 0.01]}},
            HOLDS, (2, 2, 2), {},
        ),
        (
            AB | {"kind": "spread", "cells": 1, "where": {"dataset": "MNIST", "alpha": [1, 0.1]}},
            HOLDS, (2, 2, 1), {},  # one is all that is claimed
        ),
        (
            {"table": "t", "kind": "trend", "along": {"alpha": [0.01, 0.1, 1]}}
            | {"of": "A", "minus": "B", "where": {"dataset": "MNIST"}},
            HOLDS, (1, 1, 1), {},
        ),
        (AB | {"table": "small", "where": {"dataset": "Digits"}}, HOLDS, (1, 1, 1), {}),
        # 2 of 6: one holds, and two of the three that are not printed could
        (AB | {"cells": 2}, UNDECIDED, (6, 3, 1), {"MNIST, α = 0.1": 0, "MNIST, α = 0.01": -1.5}),
        (AB | {"negate": True}, HOLDS, (6, 3, 2), {"MNIST, α = 1": 5}),
        (AB | {"by": 6, "margin": 1} | ON_MNIST, HOLDS, (1, 1, 1), {}),
        (
            {"grid": "main", "kind": "greater", "winner": "A", "loser": "B", "cells": "most"}
            | {"where": {"alpha": 1}},  # from two tables of the grid
            HOLDS, (2, 2, 2), {},
        ),
        (AB | {"loser": 60} | ON_MNIST, FAILS, (1, 1, 0), {"MNIST, α = 1": 0}),
        (AB | {"by": 5} | ON_MNIST, HOLDS, (1, 1, 1), {}),
        (AB | {"by": 5.5} | ON_MNIST, FAILS, (1, 1, 0), {"MNIST, α = 1": 5}),
    ],
)  # fmt: skip
def test_on_the_printed_numbers(
    claim: dict[str, Any],
    verdict: Verdict,
    cells: tuple[int, int, int],
    exceptions: dict[str, float],
) -> None:
    found = on_paper(claim)
    assert found.printed.verdict == verdict
    holding = found.printed.having(HOLDS)
    assert (len(found.measured.parts), len(found.printed.parts), len(holding)) == cells
    failing = {row.cell.removesuffix(", Accuracy"): row.printed for row in found.exceptions}
    assert failing == pytest.approx(exceptions)


def test_what_is_not_printed_has_no_verdict() -> None:
    claim = {"grid": "main", "kind": "earlier", "winner": "A", "loser": "B"}
    found = on_paper(claim)
    assert found.printed is None
    assert say("claims.printed", found) == ""


@pytest.mark.parametrize(
    ("claim", "facts"),
    [
        (AB, ["1 of 3", "3 not printed", "α = 0.1, ", "a tie", "α = 0.01, ", "−1.50 points"]),
        (AB | ON_MNIST, ["+5.00 points"]),
        (AB | {"by": 5.5} | ON_MNIST, ["+5.00 points", "more than +5.50 points"]),
        (AB | {"loser": 60} | ON_MNIST, ["a tie"]),
    ],
)
def test_what_the_printed_verdict_rests_on(claim: dict[str, Any], facts: list[str]) -> None:
    found = on_paper(claim)
    assert told("claims.printed", found, facts)


def test_the_evidence_as_a_tidy_table() -> None:
    plan = plan_of({"c": ON_BOTH})
    found = judge(plan, gains(4, 5, 6), PRINTED)
    frame = tidy("toy", list(found.values()))
    assert frame["cell"].tolist() == ["MNIST, α = 1, Accuracy", "Digits, α = 1, Accuracy"]
    assert frame["printed_effect"].tolist()[0] == pytest.approx(5)
    assert frame["effect"].tolist() == [pytest.approx(5)] * 2
    assert frame["run_ids"].str.count(";").tolist() == [5, 5]
    assert set(frame["measured"]) == {"supported"}
    assert frame["as_claimed"].tolist() == [True, True]
    # 5 ± 4.303 · 1/√3, two-sided; t = 5√3 = 8.660 with 2 degrees of freedom
    assert frame["low95"].tolist() == [pytest.approx(2.516, abs=1e-3)] * 2
    assert frame["p"].tolist() == [pytest.approx(0.01307, abs=1e-5)] * 2


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"winner": "A", "loser": "B", "cells": 7}, "claims.c.cells = 7, but it has only 6"),
        ({"winner": {"alpha": 1}, "loser": {"alpha": 0.1}, "where": {"alpha": 1}}, "no cell"),
    ],
)
def test_a_claim_of_too_few_cells_is_refused(
    refuses: Refuses, claim: dict[str, Any], words: str
) -> None:
    with refuses(words):
        single({"table": "t", "kind": "greater"} | claim, by_method())


@pytest.mark.parametrize(
    ("changes", "points", "verdict"),
    [
        ({}, (-4, -5, -6), HOLDS),  # not better: −5 + 2.484
        ({}, (4, 5, 6), FAILS),
        ({}, (1, 0, -1), UNDECIDED),
        ({"by": 8}, (4, 5, 6), HOLDS),  # not better by 8
    ],
)
def test_a_negated_claim_denies_its_comparison(
    changes: dict[str, Any], points: tuple[float, ...], verdict: Verdict
) -> None:
    found = at(points, negate=True, **changes)
    assert found.measured.verdict == verdict
    assert found.rows[0].label == "not: A against B"


@pytest.mark.parametrize(
    ("cells", "points", "verdict"),
    [
        ("every", (8, -8), HOLDS),  # not in every cell: it fails in one
        ("every", (8, 8), FAILS),
        ("every", (8, 0), UNDECIDED),
        (1, (8, -8), FAILS),  # not in any
        (1, (-8, -8), HOLDS),
        ("mean", (8, -8), UNDECIDED),
        ("mean", (6, -8), HOLDS),
    ],
)
def test_negation_of_several_cells(
    cells: str | int, points: tuple[float, float], verdict: Verdict
) -> None:
    asked = ON_BOTH | {"cells": cells, "negate": True}
    assert single(asked, by_dataset(*points)).measured.verdict == verdict


def test_a_negated_trend_holds_where_one_step_falls() -> None:
    asked = DIGITS | {"kind": "trend", "along": FALL, "of": "A", "negate": True}
    assert single(asked, by_alpha(A=(10, 20, 15))).measured.verdict == HOLDS
    assert single(asked, by_alpha(A=(10, 20, 40))).measured.verdict == FAILS


@pytest.mark.parametrize(
    ("by", "margin", "points", "verdict"),
    [
        (4, 0, (4, 5, 6), UNDECIDED),  # [2.516, 7.484]
        (4, 1.5, (4, 5, 6), HOLDS),  # beyond 2.5
        (4, 1.4, (4, 5, 6), UNDECIDED),  # 2.6
        (10, 2.5, (4, 5, 6), FAILS),  # below 7.5
        (10, 2.6, (4, 5, 6), UNDECIDED),  # 7.4
    ],
)
def test_a_size_may_be_missed_by_its_margin(
    by: float, margin: float, points: tuple[float, ...], verdict: Verdict
) -> None:
    assert at(points, by=by, margin=margin).measured.verdict == verdict


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"margin": 2, "by": 2}, "margin = 2 is not allowed: it must be below the size `by`"),
        ({"margin": 1}, "it must be below the size `by`, which is 0"),
        ({"margin": -1, "by": 2}, "margin = -1 is not allowed: input should be greater than or"),
    ],
)
def test_a_margin_is_part_of_a_size(refuses: Refuses, changes: dict[str, Any], words: str) -> None:
    with refuses(words):
        plan_of({"c": DUEL | changes})


def slopes(cell: Cell) -> Curve:
    """A's slope is below zero, B's above, C's is not known to be either; written as percent."""
    size = {"A": -4, "B": 4}.get(str(cell.coords["method"]), 0)
    return flat(size + (cell.seed - 1) * 0.5)


@pytest.mark.parametrize(
    ("of", "goes", "verdict"),
    [
        ("A", "down", HOLDS),  # −0.04, ± 0.00843
        ("A", "up", FAILS),
        ("B", "up", HOLDS),
        ("C", "up", UNDECIDED),
        (["A", "B"], "down", FAILS),  # each of them
    ],
)
def test_a_slope_is_judged_against_zero(of: Any, goes: str, verdict: Verdict) -> None:
    claim = {"grid": "main", "where": ONE, "kind": "slope", "of": of, "goes": goes}
    found = single(claim | {"metrics": ["drift_slope@mean"]}, slopes)
    assert found.measured.verdict == verdict


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"of": "others"}, "of: 'others' is not allowed"),
        ({"metrics": ["accuracy"]}, "metrics: 'accuracy' is not a slope"),
        ({"metrics": []}, "metrics: name the slopes that the claim is about"),
        ({"goes": "left"}, "goes = 'left' is not allowed"),
        ({"of": "D"}, "claims.c.of.method: no level 'D'"),
    ],
)
def test_a_slope_that_is_none_is_refused(
    refuses: Refuses, changes: dict[str, Any], words: str
) -> None:
    claim = {"grid": "main", "kind": "slope", "of": "A", "goes": "up", "metrics": ["drift_slope"]}
    with refuses(words):
        plan_of({"c": claim | changes})
