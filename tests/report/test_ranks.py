"""Mean ranks from cells written by hand."""

from dataclasses import replace

import pytest

from fedbench.paper.grid_points import Substitution, Substitutions
from fedbench.paper.printed_numbers import Place
from fedbench.paper.tables_and_figures import Table
from fedbench.report.figures.ranks import draw
from fedbench.report.pages.tables_and_figures import RanksOnPage
from fedbench.report.tables.cells import Run, Status, TableCell
from fedbench.report.tables.ranks import MANY, Ranks, ranks
from fedbench.report.template_words import say

TABLE = Table(title="T", grid="g", rows=("alpha",), columns=("method",), digits=1)
FEWER = (Substitution("rounds", "4", "500"),)
# Ranks by setting, more is better: a 1 2 3, b 1 2 3, c 1.5 1.5 3, d 2 1 3.
# Means: A 5.5/4 = 1.375, B 6.5/4 = 1.625, C 3. Friedman: 12·4/(3·4)·Σ(R̄−2)² = 4·(.625² + .375² +
# 1²) = 6.125, over 1 − 6/(4·24) for the one tie: 6.533, p = e^{−3.267} = 0.0381.
SCORES = {
    "a": {"A": 90.0, "B": 80.0, "C": 70.0},
    "b": {"A": 60.0, "B": 50.0, "C": 40.0},
    "c": {"A": 50.04, "B": 50.01, "C": 10.0},  # alike at one digit
    "d": {"A": 20.0, "B": 30.0, "C": 10.0},
}


def cell(setting: str, method: str, *values: float, substituted: Substitutions = ()) -> TableCell:
    """A cell with one run per value, whose seeds are 0, 1, …."""
    runs = (Run(f"{setting}-{method}-{n}", n, Status.FINISHED, x) for n, x in enumerate(values))
    place = Place("t", "MNIST", f"alpha={setting}", method, "accuracy")
    return TableCell(place, {"method": method}, method == "C", None, tuple(runs), substituted)


def cells(
    scores: dict[str, dict[str, float]] = SCORES, substituted: Substitutions = ()
) -> list[TableCell]:
    """A cell with one run per setting and method."""
    rows = [(s, m, value) for s, row in scores.items() for m, value in row.items()]
    return [cell(s, m, value, substituted=substituted) for s, m, value in rows]


def test_mean_ranks_and_friedmans_p_by_hand() -> None:
    found = ranks(TABLE, cells())
    assert found.mean.to_dict() == {"A": 1.375, "B": 1.625, "C": 3.0}
    assert found.settings == 4
    assert found.controls == {"C"}
    assert found.test.p == pytest.approx(0.0381, abs=1e-4)
    # Demšar's q for three methods is 2.343: 2.343 · sqrt(3 · 4 / (6 · 4)) = 1.657
    assert found.test.distance == pytest.approx(1.657, abs=1e-3)
    assert found.first == 3  # C is only 1.625 behind A
    # 1.657 is more than 1, a third of the three rows
    assert said(found) == (
        "3 methods ranked by their means over the seeds in each of 4 settings. Friedman's test: "
        "p = 0.038. No diagram: two of 3 mean ranks over 4 settings would have to differ by 1.7 to "
        "differ significantly (Nemenyi's test at 5 %); 0 of 3 pairs do. Settings on one data set "
        "are not independent of each other, so that the tests find differences too easily."
    )


def test_there_is_a_diagram_where_the_critical_difference_is_a_third_of_the_rows_or_less() -> None:
    # 2.343 · sqrt(3 · 4 / (6 n)) is 1.0477 for n = 10 and 0.9990 for n = 11, a third of 3 is 1
    rows = {f"s{i}": {"A": 90.0, "B": 90.0 - (-1) ** i, "C": 10.0} for i in range(11)}
    eleven = cells(rows)
    found = ranks(TABLE, [e for e in eleven if e.place.setting != "alpha=s10"])
    assert not found.tells
    # mean ranks of A and B are 1.5, of C 3: two of three pairs differ by more than 1.05
    assert "by 1.0 to differ significantly (Nemenyi's test at 5 %); 2 of 3 pairs do" in said(found)
    found = ranks(TABLE, eleven)
    assert "A bar joins methods that Nemenyi's test does not tell apart" in said(found)
    assert "less than 1.00 apart" in said(found)
    assert len(bars(found)) == 1  # of A and B


def said(found: Ranks) -> str:
    return say("tables.ranks", RanksOnPage("k", "T", found, ""))


def bars(found: Ranks) -> list[list[float]]:
    """Where the bars of a diagram lie that join methods; stems have three points."""
    lines = draw(found, "T").axes[0].lines
    return [list(x.get_xdata()) for x in lines if len(x.get_xdata()) != 3]


def test_less_is_better_for_losses_and_nothing_is_for_a_round() -> None:
    def renamed(metric: str) -> list[TableCell]:
        return [replace(e, place=replace(e.place, metric=metric)) for e in cells()]

    table = TABLE.model_copy(update={"metrics": ("loss",)})
    losses = ranks(table, renamed("loss"))
    assert losses.mean.to_dict() == {"C": 1.0, "B": 2.375, "A": 2.625}
    table = TABLE.model_copy(update={"metrics": ("best_round",)})
    assert ranks(table, renamed("best_round")) is None


def test_settings_in_which_no_method_learned_are_left_out() -> None:
    # with chance at 10 %, nothing below 15 % counts; c and d are left with A and B above it
    near = [replace(e, near=15.0) for e in cells()]
    found = ranks(TABLE, near)
    assert (found.settings, found.near_chance) == (4, 0)
    lost = [replace(e, near=95.0) if e.place.setting == "alpha=a" else e for e in near]
    found = ranks(TABLE, lost)
    assert (found.settings, found.near_chance) == (3, 1)
    assert found.mean.to_dict() == {"A": 1.5, "B": 1.5, "C": 3.0}  # of b, c and d
    caption = said(found)
    assert (
        "1 more setting is left out, in which every method, or every trial of a search, is"
        in caption
    )
    two = [replace(e, near=95.0) if e.place.setting in ("alpha=a", "alpha=b") else e for e in near]
    assert ranks(TABLE, two) is None


def test_each_seed_may_count_as_a_setting() -> None:
    # seed 0 and 1 of two settings: A before B before C in all four, as in no mean of three settings
    twice = [cell(s, m, value, value) for s in "ab" for m, value in SCORES[s].items()]
    assert ranks(TABLE, twice) is None
    found = ranks(TABLE.model_copy(update={"ranks": "seeds"}), twice)
    assert (found.settings, say("tables.counted", found)) == (
        2,
        "4 runs (2 seeds in each of 2 settings)",
    )
    assert found.mean.to_dict() == {"A": 1.0, "B": 2.0, "C": 3.0}
    assert found.first == 2  # the critical difference is 1.657


def test_seeds_and_settings_without_a_run_are_counted_apart() -> None:
    # setting a has seeds 0 to 2, of which 2 is not run; of b no seed is run
    def seed(e: TableCell, n: int, value: float | None) -> Run:
        status = Status.MISSING if value is None else Status.FINISHED
        return replace(e.runs[0], id=f"{e.runs[0].id}-s{n}", seed=n, value=value, status=status)

    def of(setting: str, seeds: tuple[bool, ...]) -> list[TableCell]:
        values = SCORES[setting]
        return [
            replace(e, runs=tuple(seed(e, n, v if done else None) for n, done in enumerate(seeds)))
            for e, v in zip(cells({setting: values}), values.values(), strict=True)
        ]

    table = TABLE.model_copy(update={"ranks": "seeds"})
    found = ranks(table, of("a", (True, True, True, False)) + of("b", (False,) * 4))
    assert (say("tables.counted", found), found.awaited) == ("3 seeds", 5)
    assert "in each of 3 seeds. " in said(found)
    assert "5 more seeds are left out, which most methods lack." in said(found)


def test_a_further_seed_of_one_method_leaves_the_others_in() -> None:
    # setting a has seeds 0 to 2 of all four methods, and a seed 3 of A
    of_a = SCORES["a"].items()
    uneven = [cell("a", m, *[value] * (4 if m == "A" else 3)) for m, value in of_a]
    found = ranks(TABLE.model_copy(update={"ranks": "seeds"}), uneven)
    assert (say("tables.counted", found), found.awaited, found.left_out) == ("3 seeds", 1, ())


def test_means_are_ranked_over_the_seeds_that_most_methods_have() -> None:
    # over seeds 0 and 1 A has 50, B 60 and C 40; with its seed 2 A has 70, and D has seed 0 alone
    uneven = [
        each
        for setting in "abcd"
        for each in (
            cell(setting, "A", 49.0, 51.0, 110.0),
            cell(setting, "B", 59.0, 61.0),
            cell(setting, "C", 39.0, 41.0),
            cell(setting, "D", 99.0),
        )
    ]
    found = ranks(TABLE, uneven)
    assert found.mean.to_dict() == {"B": 1.0, "A": 2.0, "C": 3.0}
    assert "by their means over the seeds that most of them have in each of 4 settings" in said(
        found
    )
    assert said(found).endswith(
        "Left out, as they were not run in every setting with these seeds: D."
    )


def test_settings_of_the_same_runs_count_once() -> None:
    twice = [replace(e, place=replace(e.place, dataset="Copy")) for e in cells()]
    found = ranks(TABLE, cells() + twice)
    assert found.settings == 4


def test_too_few_settings_or_methods_are_not_ranked() -> None:
    assert ranks(TABLE, cells({s: SCORES[s] for s in "ab"})) is None
    assert ranks(TABLE, [e for e in cells() if e.place.method != "C"]) is None


def test_a_method_that_a_setting_lacks_is_named() -> None:
    found = ranks(TABLE, [*cells(), cell("a", "D", 99.0)])
    assert found.left_out == ("D",)
    assert "in every setting: D" in said(found)


def test_ranks_of_substitutes_are_not_tested() -> None:
    found = ranks(TABLE, cells(substituted=FEWER))
    assert found.test is None
    caption = said(found)
    assert "no difference between the ranks is tested" in caption
    assert "p =" not in caption


@pytest.mark.parametrize("substituted", [(), FEWER])
def test_every_method_stands_in_the_diagram(substituted: Substitutions) -> None:
    found = ranks(TABLE, cells(substituted=substituted))
    figure = draw(found, say("tables.rank_title", "T", "", "", found))
    texts = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(name in texts for name in ("A", "B", "C (control)"))
    assert any("not tested" in t.get_text() for t in figure.texts) == bool(substituted)


def test_the_scale_ends_within_the_picture_and_stems_stand_at_the_mean_ranks() -> None:
    found = ranks(TABLE, cells())
    tied = replace(found, mean=found.mean.where(found.mean > 2, 1.5))
    axes = draw(tied, say("tables.rank_title", "T", "", "", tied)).axes[0]
    assert axes.get_xlim() == (1, 3)
    assert list(axes.get_xticks()) == [1, 2, 3]
    stems = [line.get_xdata()[-1] for line in axes.lines if line.get_marker() != "None"]
    assert sorted(stems) == [1.5, 1.5, 3]
    assert len({text.get_position() for text in axes.texts}) == 3


def test_a_bar_is_drawn_from_left_to_right_whatever_order_the_process_gives_to_a_set() -> None:
    # eight methods that lead in turn: no two differ, and one bar lies over all of them
    alike = [
        cell(f"s{s}", m, 10.0 * ((i + 3 * s) % 8))
        for s in range(16)
        for i, m in enumerate("ABCDEFGH")
    ]
    found = ranks(TABLE, alike)
    lines = [line.get_xdata() for line in draw(found, "T").axes[0].lines]
    (bar,) = [list(x) for x in lines if len(x) == 8]
    assert bar == sorted(bar)


def test_many_methods_are_listed() -> None:
    values = {f"M{i}": 90.0 - i for i in range(MANY + 1)}
    found = ranks(TABLE, [cell(f"s{s}", m, v) for s in range(24) for m, v in values.items()])
    assert "; shaded from the first on." in said(found)
    (axes,) = draw(found, "T").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(values)
    points = [tuple(at) for dots in axes.collections for at in dots.get_offsets()]
    assert sorted(points) == [(i + 1.0, float(i)) for i in range(MANY + 1)]
    (band,) = axes.patches
    assert band.get_x() == 1
    assert band.get_width() == pytest.approx(found.test.distance)


def test_too_few_settings_for_so_many_methods_give_a_sentence_and_no_diagram() -> None:
    # 25 methods, 3 settings: the critical difference is 21.98, above a third of 25
    values = {f"M{i}": 90.0 - i for i in range(MANY + 1)}
    found = ranks(TABLE, cells(dict.fromkeys("abc", values)))
    assert not found.tells
    # ranks 1 and 23 to 25, 2 and 24 or 25, 3 and 25 are 22 or more apart
    assert "by 22.0 to differ significantly (Nemenyi's test at 5 %); 6 of 300 pairs" in said(found)
