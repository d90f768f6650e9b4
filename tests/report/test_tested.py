"""Which runs test a claim, and what is said where none does."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fedbench.base.files import write_text
from fedbench.paper.grid_points import Substitution
from fedbench.paper.metrics import Metric
from fedbench.plan.plan import Plan
from fedbench.report.claims.comparison_tree import last_digit
from fedbench.report.claims.finding import Finding, Label, Void
from fedbench.report.claims.page import plots
from fedbench.report.claims.tests import Limit, Verdict
from fedbench.report.template_words import say
from fedbench.report.values.numbers import amount
from fedbench.store import Results
from tests.report.claim_case import flat, judge, plan_of
from tests.report.test_claims import DUEL, EQUAL, at, by_method, gains, single, told

TABLE = {"table": "small", "where": {"dataset": "Digits"}, "kind": "greater", "winner": "A"}
ACCURACIES = (("A", 0.9), ("B", 0.8), ("C", 0.7), ("trick", 0.6))
PRINTED = "".join(f"small,Digits,alpha=1,{m},accuracy,{x},\n" for m, x in ACCURACIES)


def searched(
    score: float | None, folder: Path, dataset: str = "Digits", metric: str = "accuracy"
) -> Finding:
    """Whether A leads B, whose settings a search chose whose best trial has this score.

    Without a score neither the trials nor the winner are there any more. Digits has ten classes:
    guessing gives 0.1, and below 0.15 a trial is near chance.
    """
    plan = plan_of({"c": DUEL | {"metrics": [metric]}})
    served = {
        cell.run_id: "s"
        for cell in plan.cells
        if cell.coords["method"] == "B" and cell.coords["dataset"] == dataset
    }
    tried = [{"lr": 0.1, "score": score}, {"lr": 1.0, "score": 0.1}]
    if score is not None:
        winner = {"chosen": {"lr": 0.1}, "trials": tried, "on_edge": ["lr"]}
        write_text(Results(folder).winner("s"), json.dumps(winner))
    return judge(replace(plan, searches=served), gains(4, 5, 6), results=folder)["c"]


@pytest.mark.parametrize("score", [0.14, None])
def test_settings_chosen_near_chance_test_nothing(score: float | None, tmp_path: Path) -> None:
    found = searched(score, tmp_path)
    assert (found.measured.verdict, found.tested) == (Verdict.UNDECIDED, False)
    assert found.label == Label.NOT_TESTED
    assert found.rows[0].void is Void.CHOSEN_NEAR_CHANCE
    assert told("claims.reason", found, ["settings chosen by trials near chance", "+5.00 points"])
    assert found.signs == (0, 0)  # the sign of chance is none
    assert "here-not-tested" in found.tags
    assert plots(found.rows)[0]["lines"][0]["look"] == "faint undecided"


@pytest.mark.parametrize(("score", "dataset"), [(0.16, "Digits"), (0.14, "MNIST")])
def test_other_searches_leave_the_verdict(tmp_path: Path, score: float, dataset: str) -> None:
    found = searched(score, tmp_path, dataset)  # MNIST: of runs that are not compared
    assert (found.label, found.rows[0].void) == (Label.SUPPORTED, None)


def test_what_clients_hold_depends_on_no_search(tmp_path: Path) -> None:
    (row,) = searched(0.14, tmp_path, metric="holdings/few").rows
    assert row.of_paper


@pytest.mark.parametrize(("level", "label"), [(10, Label.NOT_TESTED), (16, Label.SUPPORTED)])
def test_that_two_are_equal_while_neither_has_learned_tests_nothing(
    level: float, label: Label
) -> None:
    # of ten classes guessing gives 10 %, and below 15 % a run has learned next to nothing
    found = single(EQUAL | {"margin": 1}, lambda _: flat(level))
    assert found.label == label
    assert (found.rows[0].void is Void.NEAR_CHANCE) == (level == 10)
    why = "all compared accuracies are near chance"
    assert told("claims.reason", found, [why]) == (level == 10)
    assert told("claims.note", found.rows[0], [why]) == (level == 10)


def test_one_side_that_learned_is_enough_for_a_test() -> None:
    learned = single(DUEL, by_method(A=40, B=10))
    assert (learned.label, learned.rows[0].void) == (Label.SUPPORTED, None)


def left_out(plan: Plan) -> Plan:
    """The plan of a scale that leaves the table `small` out, but has the runs of its grid."""
    toy = plan.papers["toy"]
    tables = {key: table for key, table in toy.tables.items() if key != "small"}
    return replace(plan, papers={"toy": toy.model_copy(update={"tables": tables})})


def test_a_claim_on_a_table_that_is_left_out_is_not_tested() -> None:
    plan = plan_of({"c": TABLE})
    assert judge(plan, gains(4, 5, 6))["c"].label == Label.SUPPORTED
    found = judge(left_out(plan), gains(4, 5, 6), PRINTED)["c"]
    assert found.label == Label.NOT_TESTED
    assert not found.rows[0].kept
    assert told("claims.reason", found, ["its table is left out at this scale"])
    assert found.printed.verdict == Verdict.HOLDS  # what the paper prints is judged all the same


def test_missing_runs_of_substitutes_promise_no_test() -> None:
    claim = DUEL | {"where": {"dataset": "MNIST", "alpha": 1}}
    found = single(claim, lambda _: None, "small")
    assert found.substituted == (Substitution("dataset", "digits", "mnist"),)
    assert (found.label, found.missing) == (Label.NOT_TESTED, (6, 6))
    assert "here-not-tested" in found.tags


def test_runs_that_can_never_test_a_claim_are_not_awaited() -> None:
    # of four rounds: what is claimed of round 9 stays untested however many runs finish
    claim = DUEL | {"where": {"dataset": "MNIST", "alpha": 1}, "metrics": ["accuracy@9"]}
    found = single(claim, lambda _: None)
    assert not found.unrun
    assert [row.too_late for row in found.rows] == [True]


def test_the_size_that_is_claimed_stands_beside_the_effect() -> None:
    # 5 ± 4.303 · 1/√3
    found = at((4, 5, 6), by=3)
    facts = ["6.26 points", "+5.00 points", "[+2.52, +7.48]", "p = 0.074", "more than +3.00 points"]
    assert told("claims.reason", found, [*facts, "claimed", "all 3 pairs"])
    denied = at((4, 5, 6), by=3, negate=True)
    assert told("claims.reason", denied, ["not more than +3.00 points is"])
    assert not told("claims.reason", at((4, 5, 6)), ["claimed"])


def test_an_effect_outside_the_margin_has_the_bounds_that_let_it_fail() -> None:
    # at 2.5 % the upper bound of −4 ± 4.303 · 1/√3 is −1.52, below −1.2; at 1.25 %, which failing
    # asks for, it is −4 + 6.205 · 1/√3 = −0.42
    found = single(EQUAL | {"margin": 1.2}, gains(-3, -4, -5))
    assert found.label == Label.UNDECIDED
    assert told("claims.bounds", found.rows[0], ["[−7.58, −0.42]"])


def test_a_claim_that_wants_more_is_not_tested_whatever_the_numbers() -> None:
    claim = DUEL | {"wants": "five seeds at the rate 0.01"}
    found = single(claim, gains(4, 5, 6))
    assert (found.label, found.could) == (Label.NOT_TESTED, frozenset())
    assert told("claims.reason", found, ["five seeds at the rate 0.01", "+5.00 points"])


def test_a_verdict_on_a_reading_of_ours_says_so_and_counts_apart() -> None:
    claim = DUEL | {"reading": "equation 3"}
    found = single(claim, gains(-4, -5, -6))
    assert (found.label, found.on_reading) == (Label.NOT_SUPPORTED, True)
    assert told("claims.label", found, ["not supported", "equation 3"])
    assert "reading-not-supported" in found.tags
    assert "here-not-supported" not in found.tags
    untested = single(claim, gains(-4, -5, -6), "one")
    assert not untested.on_reading  # what was not tested rests on no reading
    assert "here-not-tested" in untested.tags


def test_a_reading_cannot_be_at_odds_with_printed_numbers() -> None:
    for more, tag in (({}, "printed-fails"), ({"reading": "Table 2"}, "printed-none")):
        plan = plan_of({"c": TABLE | {"winner": "B", "loser": "A"} | more})
        found = judge(plan, lambda _: None, PRINTED)["c"]
        assert tag in found.tags


@pytest.mark.parametrize(
    ("need", "label"), [("one", Label.SUPPORTED), ("all", Label.NOT_SUPPORTED)]
)
def test_of_several_readings_the_kindest_counts(need: str, label: Label) -> None:
    far = DUEL | {"by": 100}
    claims = {"a": far, "b": DUEL, "s": {"kind": "together", "claims": ["a", "b"], "need": need}}
    found = judge(plan_of(claims), gains(4, 5, 6))
    assert found["s"].label == label
    assert [found[key].counts for key in "abs"] == [need == "all", need == "all", True]


def test_one_of_two_readings_is_shown_at_half_the_risk() -> None:
    claims = {"a": DUEL, "b": DUEL}
    joined = {"kind": "together", "claims": ["a", "b"], "need": "one"}
    found = judge(plan_of(claims | {"s": joined}), gains(2.5, 5, 7.5))["s"]
    assert found.rows[0].error_rates.hold == pytest.approx(0.0125)


@pytest.mark.parametrize(
    ("claim", "as_claimed"),
    [
        (DUEL, True),
        (DUEL | {"winner": "B", "loser": "A"}, False),
        (DUEL | {"winner": "B", "loser": "A", "negate": True}, True),
        (DUEL | {"by": 1}, None),  # a size
        (DUEL | {"loser": 10}, None),  # a threshold
        (EQUAL | {"margin": 1}, None),
    ],
)
def test_the_sign_is_that_of_a_comparison_of_two(
    claim: dict[str, object], as_claimed: bool | None
) -> None:
    (row,) = single(claim, gains(4, 5, 6)).rows
    assert row.as_claimed is as_claimed


@pytest.mark.parametrize(
    ("by", "printed", "holds"),
    [
        (2.4, 2.32, True),  # misses by less than one unit of its last digit
        (2.4, 2.29, False),
        (20, 19.1, True),
        (20, 18.9, False),
        (0, 0, False),  # a tie is no lead
    ],
)
def test_rounding_contradicts_nothing(by: float, printed: float, holds: bool) -> None:
    assert Limit(by, rounding=last_digit(by)).allows(printed) == holds


def test_a_printed_zero_is_a_digit() -> None:
    assert [last_digit(3.0, text) for text in ("by 3.0 points", "by 3 points")] == [0.1, 1.0]
    assert [last_digit(x, f"by {x:.2f} points") for x in (0.1, 1.5, -1.5)] == [0.01] * 3
    assert last_digit(3.0, "by 3 points, from 43.0 to 45.5 %") == 1.0


def test_what_could_have_been_seen_stands_beside_undecided() -> None:
    found = at((0, 1, 2))
    size = f"{found.rows[0].detectable:.2f}"
    assert found.label == Label.UNDECIDED
    assert told("claims.reason", found, ["3 pairs", f"above {size} points"])


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("round@to:0.45", "+22.0 rounds"),
        ("accuracy@best", "+22.00 points"),
        ("megabytes@to:0.45", "+22 MB"),
        ("round_seconds@median", "+22 s"),
        ("loss", "+22"),
    ],
)
def test_an_effect_has_its_unit(metric: str, words: str) -> None:
    assert amount(22, Metric(metric).unit_of_differences) == words


@pytest.mark.parametrize("why", Void)
def test_every_reason_why_a_comparison_says_nothing_has_words(why: Void) -> None:
    assert say("claims.void", why)


def test_a_picture_names_its_lines_and_ends_at_round_numbers(tmp_path: Path) -> None:
    (row,) = searched(0.16, tmp_path).rows
    cells = ("MNIST", "CIFAR-10, α = 0.1, seed by seed")
    shown = [
        replace(row, cell=cell, printed=effect)
        for cell, effect in zip(cells, (-24.74, 41.2), strict=True)
    ]
    (drawn,) = plots(shown)
    assert drawn["ends"] == ("−25.00 points", "+45.00 points")
    assert [line["name"] for line in drawn["lines"]] == ["MNIST", "CIFAR-10, α = 0.1, seed b…"]
    assert drawn["left"] < drawn["zero"] < 304
    (many,) = plots([replace(row, cell=str(n)) for n in range(40)])  # no room for names
    assert {line["name"] for line in many["lines"]} == {""}
