"""Leads over one method, by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fedbench.base.errors import FedbenchError
from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.layout import draw
from fedbench.report.kinds.leads_and_pareto import _inside
from fedbench.report.values.leads import leads
from tests.report.report_case import case, figure_of, frame_of


def index(settings: int, seeds: int) -> pd.MultiIndex:
    return pd.MultiIndex.from_product([range(settings), range(seeds)])


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    # differences 1, 2, 3: mean 2, s = 1; t with 2 degrees of freedom is 4.303: 4.303/√3 = 2.484
    values = pd.DataFrame({"A": [51.0, 62.0, 73.0], "FedAvg": [50.0, 60.0, 70.0]})
    found = leads(values, "FedAvg")
    assert found.mean.to_dict() == {"A": pytest.approx(2), "FedAvg": 0}
    assert found.half["A"] == pytest.approx(2.484, abs=1e-3)
    assert not found.tested  # three seeds of one setting
    paired = stats.ttest_rel(values["A"], values["FedAvg"]).confidence_interval()
    low, high = found.mean["A"] - found.half["A"], found.mean["A"] + found.half["A"]
    assert (low, high) == pytest.approx((paired.low, paired.high))


def test_the_error_is_taken_within_settings() -> None:
    # 1, 2, 3 in one setting and 11, 12, 13 in the other: within each s² = 1, so that the mean of
    # 7 has the error √(1/6), with 4 degrees of freedom: t = 2.776
    values = pd.DataFrame({"A": [1.0, 2, 3, 11, 12, 13], "B": 0.0}, index=index(2, 3))
    found = leads(values, "B")
    assert found.half["A"] == pytest.approx(2.7764 / 6**0.5, abs=1e-4)


def test_the_p_value_by_hand() -> None:
    # six pairs: 64 ways to flip their signs, of which A's own and its opposite have the largest
    # mean over error; B's differences are half of either sign
    values = pd.DataFrame(
        {"A": [4.0, 5, 6, 4, 5, 6], "B": [1.0, -1, 0, 1, -1, 0], "base": 0.0}, index=index(2, 3)
    )
    found = leads(values, "base")
    assert found.p["A"] == pytest.approx(2 / 64)
    assert found.p["B"] == 1
    assert (found.tells("A"), found.tells("B"), found.tells("base")) == (True, False, False)


@pytest.mark.parametrize(("settings", "seeds"), [(1, 9), (1, 10), (2, 2), (2, 3), (3, 3)])
def test_a_test_needs_ten_seeds_in_one_setting_and_three_in_each_of_several(
    settings: int, seeds: int
) -> None:
    noise = np.random.default_rng(0).normal(0, 1, (settings * seeds, 3))
    found = leads(pd.DataFrame(noise, index(settings, seeds), ["A", "B", "C"]), "A")
    assert found.tested == (seeds >= (10 if settings == 1 else 3))


def test_a_step_down_leaves_out_what_is_ahead_already() -> None:
    # without B, whose statistic is the largest, fewer flips give one as large as A's
    values = pd.DataFrame(
        np.random.default_rng(3).normal([3, 1.2, 0], 0.6, (6, 3)), index(2, 3), ["B", "A", "base"]
    )
    both, alone = leads(values, "base"), leads(values.drop(columns="B"), "base")
    assert alone.p["A"] <= both.p["A"]
    assert both.p["B"] <= both.p["A"]


def test_a_collapsed_method_is_shown_and_is_outside_the_family() -> None:
    values = pd.DataFrame(
        np.random.default_rng(0).normal(0, 1, (6, 4)), index(2, 3), ["base", "A", "B", "bad"]
    )
    values["bad"] = [60.0, 10, 60, 60, 60, 60]
    found, without = leads(values, "base", {"bad"}), leads(values.drop(columns="bad"), "base")
    assert found.collapsed == ("bad",)
    assert np.isnan(found.p["bad"])
    assert "bad" in found.mean
    assert found.p[["A", "B"]].to_dict() == without.p[["A", "B"]].to_dict()


@pytest.mark.parametrize("base", [1.0, 3.0])
def test_significance_holds_for_all_methods_at_once(base: float) -> None:
    # also where the base scatters three times as far as all others
    draw, wrong = np.random.default_rng(1), 0
    deviations = np.where(np.arange(12) == 0, base, 1.0)
    for _ in range(300):
        blocks, noise = draw.normal(0, 2, (6, 1)), draw.normal(0, deviations, (6, 12))
        found = leads(pd.DataFrame(blocks + noise, index(2, 3), [*"abcdefghijkl"]), "a")
        wrong += any(found.tells(name) for name in found.mean.index)
    assert wrong / 300 < 0.06


def test_of_many_pairs_some_flips_are_drawn_always_the_same() -> None:
    noise = np.random.default_rng(0).normal(0.4, 1, (20, 3))
    values = pd.DataFrame(noise, index(2, 10), ["A", "B", "C"])
    first, second = leads(values, "A"), leads(values, "A")
    assert first.p.to_dict() == pytest.approx(second.p.to_dict(), nan_ok=True)


def test_a_further_seed_of_one_method_leaves_the_others_in() -> None:
    # the seed that B alone has says nothing of a lead; A and B are compared on the other two
    nan = float("nan")
    two = pd.DataFrame({"FedAvg": [50.0, 60.0], "A": [51.0, 63.0], "B": [50.0, 62.0]})
    more = pd.DataFrame(
        {"FedAvg": [50.0, 60.0, nan], "A": [51.0, 63.0, nan], "B": [50.0, 62.0, 99.0]}
    )
    found, alone = leads(more, "FedAvg"), leads(two, "FedAvg")
    assert found.blocks == 2
    assert found.mean.to_dict() == alone.mean.to_dict() == {"A": 2.0, "B": 1.0, "FedAvg": 0.0}


def test_a_method_with_the_same_runs_as_the_base_leads_by_nothing() -> None:
    values = pd.DataFrame(
        {"FedAvg": [1.0, 2.0], "FedNova": [1.0, 2.0], "B": [3.0, 3.5], "C": [1, 4]}
    )
    found = leads(values, "FedAvg")
    assert found.mean["FedNova"] == 0
    assert not found.tells("FedNova")


def test_a_method_that_lacks_a_block_is_left_out_and_the_base_may_not() -> None:
    values = pd.DataFrame({"A": [1.0, 2.0], "B": [2.0, None], "C": [3.0, 3.5]})
    found = leads(values, "A")
    assert ([*found.mean.index], found.blocks) == (["C", "A"], 2)
    assert leads(values, "B") is None
    assert leads(values[:1], "A") is None
    assert leads(values[["A"]], "A") is None


LAST = {"A": 0.5, "<b>": 0.6, "control_%": 0.7}
BOTH = [(method, alpha) for method in ("A", "<b>") for alpha in (1, 0.1)]


def leads_in(
    folder: Path,
    finished: list[tuple[str, float]] = BOTH,
    base: str = "A",
    seeds: int = 3,
    **figure: object,
) -> Drawing:
    """The leads on MNIST, where so many seeds of these methods and α are finished."""
    plan = case(folder)
    frame = pd.concat(
        frame_of(plan, {s: [0.1, LAST[method] + s / 100] for s in range(seeds)}, method, alpha)
        for method, alpha in finished
    )
    return figure_of(plan, frame, kind={"lead": {"base": base}}, **(figure or {"over": ("alpha",)}))


def test_a_figure_pairs_seeds_and_settings(tmp_path: Path) -> None:
    figure = draw(leads_in(tmp_path))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<b>", "A"]
    assert axes.get_title(loc="left") == "6 pairs each"
    drawn = [line.get_xydata() for line in axes.lines if line.get_marker() == "o"]
    points = sorted((y, x) for at in drawn for x, y in at if np.isfinite(x))
    assert points == [(0, pytest.approx(10)), (1, pytest.approx(0))]
    assert axes.get_xlabel() == "Accuracy:\nahead of A (points)"


def test_a_target_that_is_never_reached_is_no_lead() -> None:
    never = float("inf")
    values = pd.DataFrame({"A": [3.0, 4, 5], "B": [2.0, 3, 5], "C": [1.0, never, 2]})
    found = leads(values, "A")
    assert (found.blocks, [*found.mean.index]) == (3, ["A", "B"])
    assert leads(values, "C") is None


def test_a_figure_has_its_leads_in_numbers(tmp_path: Path) -> None:
    drawn = leads_in(tmp_path)
    (row,) = drawn.kind.numbers(drawn.panels).to_dict("records")
    assert (row["name"], row["base"], row["pairs"]) == ("<b>", "A", 6)
    # by 10 points in every pair: nothing is left to chance
    assert (row["lead"], row["low95"], row["high95"]) == pytest.approx((10, 10, 10))
    assert (row["p"], row["significant"], row["collapsed"]) == (pytest.approx(2 / 64), True, False)
    assert drawn.kind.numbers([]).empty


def test_a_base_that_is_not_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FedbenchError, match="figure kind lead: no base 'FedAvg'; choose from <b>, A"
    ):
        draw(leads_in(tmp_path, base="FedAvg"))


def test_one_of_two_settings_is_no_mean_over_both(tmp_path: Path) -> None:
    # α = 0.1 is not run, or run without A or without all others
    for finished, words in (
        ([("A", 1), ("<b>", 1)], "no method has all its runs"),
        ([*BOTH[:1], *BOTH[2:]], "needs all runs of A and of another method"),
        (BOTH[:3], "needs all runs of A and of another method"),
    ):
        (axes,) = draw(leads_in(tmp_path, finished)).axes
        assert [text.get_text() for text in axes.texts] == [words]


def test_a_method_that_lacks_one_of_two_settings_is_left_out_of_their_mean(tmp_path: Path) -> None:
    finished = [*BOTH, ("control_%", 1)]
    (axes,) = draw(leads_in(tmp_path, finished)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<b>", "A"]


def test_a_panel_of_one_setting_needs_no_other(tmp_path: Path) -> None:
    finished = [("A", 1.0), ("<b>", 1.0)]
    (axes,) = draw(leads_in(tmp_path, finished, panels=("alpha",))).axes
    assert axes.get_title(loc="left") == "α = 1, 3 pairs each, not tested"


def test_a_single_seed_shows_no_lead(tmp_path: Path) -> None:
    alone = leads_in(tmp_path, [("A", 1), ("<b>", 1)], seeds=1, panels=("alpha",))
    one, other = draw(alone).axes
    assert [text.get_text() for text in one.texts] == [
        "too few seeds are finished, or reach the target"
    ]
    assert [text.get_text() for text in other.texts] == ["no run is finished"]


def test_a_collapsed_mean_leaves_the_others_room():
    mean = pd.Series({"A": 0.5, "FedAvg": 0.0, "B": -0.5, "near": -3.0, "far": -4.0})
    # tested leads extend over 1: what is more than 3 beyond them is at an arrow
    assert [*_inside(mean, ("near", "far")).index] == ["A", "FedAvg", "B", "near"]
    assert len(_inside(mean[["FedAvg", "far"]], ("far",))) == 2  # nothing is tested
    assert len(_inside(mean[["far"]], ("far",))) == 1  # nor is the base itself
