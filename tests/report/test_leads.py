"""Leads over one method, by hand."""

from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fedbench.base.errors import FedbenchError
from fedbench.paper.items import Figure
from fedbench.plan.plan import Plan
from fedbench.report.figures.draw import draw
from fedbench.report.figures.drawing import Drawing, drawing
from fedbench.report.values.frames import Collected
from fedbench.report.values.leads import leads
from fedbench.spec import Choice
from tests.report.report_case import FULL, case, frame_of


def test_two_methods_are_compared_by_a_paired_t_interval() -> None:
    # differences 1, 2, 3: mean 2, s = 1; t with 2 degrees of freedom is 4.303: 4.303/√3 = 2.484
    values = pd.DataFrame({"A": [51.0, 62.0, 73.0], "FedAvg": [50.0, 60.0, 70.0]})
    found = leads(values, "FedAvg")
    assert found is not None
    assert found.mean.to_dict() == {"A": pytest.approx(2), "FedAvg": 0}
    assert found.half["A"] == pytest.approx(2.484, abs=1e-3)
    assert not found.tells("A")
    paired = stats.ttest_rel(values["A"], values["FedAvg"]).confidence_interval()
    low, high = found.mean["A"] - found.half["A"], found.mean["A"] + found.half["A"]
    assert (low, high) == pytest.approx((paired.low, paired.high))


def test_a_further_seed_of_one_method_leaves_the_others_in() -> None:
    # the seed that B alone has says nothing of a lead; A and B are compared on the other two
    nan = float("nan")
    two = pd.DataFrame({"FedAvg": [50.0, 60.0], "A": [51.0, 63.0], "B": [50.0, 62.0]})
    more = pd.DataFrame(
        {"FedAvg": [50.0, 60.0, nan], "A": [51.0, 63.0, nan], "B": [50.0, 62.0, 99.0]}
    )
    found, alone = leads(more, "FedAvg"), leads(two, "FedAvg")
    assert found is not None
    assert alone is not None
    assert (found.blocks, found.left_out) == (2, ())
    assert found.mean.to_dict() == alone.mean.to_dict() == {"A": 2.0, "B": 1.0, "FedAvg": 0.0}


def test_equal_noise_is_pooled_over_methods_and_the_level_corrected() -> None:
    values = pd.DataFrame({"A": [1.0, 2.0], "B": [2.0, 1.0], "C": [8.5, 9.5], "D": [9.5, 8.5]})
    found = leads(values, "A")
    assert found is not None
    # noise: each −½ and ½: Σ of squares 4·½ = 2, degrees of freedom (2−1)(4−1) = 3, variance ⅔
    half = stats.t.ppf(1 - 0.05 / 6, 3) * sqrt(2 * (2 / 3) / 2)
    assert found.half.drop("A").to_list() == pytest.approx([half] * 3)
    assert (found.half["A"], found.usual) == (0, pytest.approx(half))
    assert found.mean.to_dict() == {"C": 7.5, "D": 7.5, "A": 0, "B": 0}
    assert (found.tells("C"), found.tells("B")) == (True, False)


def test_methods_that_scatter_far_have_wider_intervals() -> None:
    # every second method scatters ten times as far
    noise = np.random.default_rng(0).normal(0, np.tile([0.1, 1.0], 10), (6, 20))
    values = pd.DataFrame(noise + 2.0 * np.arange(20), columns=[f"M{i}" for i in range(20)])
    found = leads(values, "M0")
    assert found is not None
    calm, wild = ([f"M{i}" for i in range(20) if i % 2 == odd and i] for odd in (0, 1))
    assert found.half[calm].max() < 0.6 * found.half[wild].min()
    assert found.tells("M2")  # by about 4


def test_a_diverged_run_does_not_widen_the_intervals_of_others() -> None:
    noise = np.random.default_rng(0).normal(0, 0.3, (3, 20))
    values = pd.DataFrame(noise, columns=[f"M{i}" for i in range(20)])
    alone, beside = leads(values, "M0"), leads(values.assign(bad=[60.0, 10.0, 60.0]), "M0")
    assert alone is not None
    assert beside is not None
    assert beside.half["bad"] > 20 * beside.usual
    assert beside.usual < 3 * alone.usual  # with plain means of blocks 6 times


def test_intervals_hold_for_all_methods_at_once() -> None:
    draw = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        blocks, noise = draw.normal(0, 2, (3, 1)), draw.normal(0, 1, (3, 12))
        found = leads(pd.DataFrame(blocks + noise, columns=list("abcdefghijkl")), "a")
        assert found is not None
        wrong += any(found.tells(name) for name in found.mean.index)
    assert 0.01 < wrong / 400 < 0.06  # at most 5 %; Bonferroni stays below


def test_intervals_hold_where_variances_differ() -> None:
    # as far as in the arena, where a prior of 2.6 degrees of freedom fits; one variance for all
    # would call some method ahead or behind in a quarter of these draws
    draw = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        deviations = np.sqrt(2.6 / draw.chisquare(2.6, 40))
        names = [f"M{i}" for i in range(40)]
        found = leads(pd.DataFrame(draw.normal(0, deviations, (3, 40)), columns=names), "M0")
        assert found is not None
        wrong += any(abs(found.mean) > found.half)
    assert wrong / 200 < 0.1


def test_a_method_with_the_same_runs_as_the_base_leads_by_nothing() -> None:
    values = pd.DataFrame(
        {"FedAvg": [1.0, 2.0], "FedNova": [1.0, 2.0], "B": [3.0, 3.5], "C": [1, 4]}
    )
    found = leads(values, "FedAvg")
    assert found is not None
    assert found.mean["FedNova"] == 0
    assert not found.tells("FedNova")


def test_a_method_that_lacks_a_block_is_left_out_and_the_base_may_not() -> None:
    values = pd.DataFrame({"A": [1.0, 2.0], "B": [2.0, None], "C": [3.0, 3.5]})
    found = leads(values, "A")
    assert found is not None
    assert (found.left_out, found.blocks) == (("B",), 2)
    assert leads(values, "B") is None
    assert leads(values[:1], "A") is None
    assert leads(values[["A"]], "A") is None


LAST = {"A": 0.5, "<b>": 0.6, "control_%": 0.7}
BOTH = [(method, alpha) for method in ("A", "<b>") for alpha in (1, 0.1)]


def figure_of(
    plan: Plan,
    folder: Path,
    base: str,
    finished: list[tuple[str, float]] = BOTH,
    over: tuple[str, ...] = ("alpha",),
) -> Drawing:
    """The leads on MNIST over both α, where three seeds of these methods and α are finished."""
    kind = Choice(name="lead", params={"base": base})
    panels = () if over else ("alpha",)
    figure = Figure(
        title="F", grid="main", where={"dataset": "MNIST"}, over=over, panels=panels, kind=kind
    )
    plan.papers["toy"] = plan.papers["toy"].model_copy(update={"figures": {"f": figure}})
    frames = [
        frame_of(plan, {s: [0.1, LAST[method] + s / 100] for s in range(3)}, method, alpha)
        for method, alpha in finished
    ]
    return drawing(plan, ("toy", "f"), Collected(pd.concat(frames), folder))


def test_a_figure_pairs_seeds_and_settings(tmp_path: Path) -> None:
    figure = draw(figure_of(case(tmp_path, FULL), tmp_path, "A"))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<b>", "A"]
    assert axes.get_title(loc="left") == "6 pairs each"
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert points == [pytest.approx(10), pytest.approx(0)]
    assert axes.get_xlabel() == "Accuracy: ahead of A (points)"


def test_a_target_that_is_never_reached_is_no_lead() -> None:
    never = float("inf")
    values = pd.DataFrame({"A": [3.0, 4, 5], "B": [2.0, 3, 5], "C": [1.0, never, 2]})
    found = leads(values, "A")
    assert found is not None
    assert (found.blocks, found.left_out, [*found.mean.index]) == (3, ("C",), ["A", "B"])
    assert leads(values, "C") is None


def test_a_figure_has_its_leads_in_numbers(tmp_path: Path) -> None:
    drawn = figure_of(case(tmp_path, FULL), tmp_path, "A")
    (row,) = drawn.kind.numbers(drawn.panels).to_dict("records")
    assert (row["name"], row["base"], row["pairs"]) == ("<b>", "A", 6)
    # by 10 points in every pair: nothing is left to chance
    assert (row["lead"], row["low"], row["high"]) == pytest.approx((10, 10, 10))
    assert row["beyond_chance"]
    assert drawn.kind.numbers([]).empty


def test_a_base_that_is_not_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FedbenchError, match="base = 'FedAvg' is not among what is drawn"):
        draw(figure_of(case(tmp_path, FULL), tmp_path, "FedAvg"))


def test_one_of_two_settings_is_no_mean_over_both(tmp_path: Path) -> None:
    # α = 0.1 is not run, or run without A or without all others
    for finished, words in (
        ([("A", 1), ("<b>", 1)], "no method has all its runs"),
        ([*BOTH[:1], *BOTH[2:]], "needs all runs of A and of another method"),
        (BOTH[:3], "needs all runs of A and of another method"),
    ):
        (axes,) = draw(figure_of(case(tmp_path, FULL), tmp_path, "A", finished)).axes
        assert [text.get_text() for text in axes.texts] == [words]


def test_a_method_that_lacks_one_of_two_settings_is_left_out_of_their_mean(tmp_path: Path) -> None:
    finished = [*BOTH, ("control_%", 1)]
    (axes,) = draw(figure_of(case(tmp_path, FULL), tmp_path, "A", finished)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<b>", "A"]


def test_a_panel_of_one_setting_needs_no_other(tmp_path: Path) -> None:
    finished = [("A", 1.0), ("<b>", 1.0)]
    (axes,) = draw(figure_of(case(tmp_path, FULL), tmp_path, "A", finished, over=())).axes
    assert axes.get_title(loc="left") == "α = 1, 3 pairs each"


def test_a_single_seed_shows_no_lead(tmp_path: Path) -> None:
    plan = case(tmp_path, FULL)
    figure_of(plan, tmp_path, "A", over=())  # adds the figure to the plan
    alone = [frame_of(plan, {0: [0.1, 0.5]}, method, 1) for method in ("A", "<b>")]
    collected = Collected(pd.concat(alone), tmp_path)
    one, other = draw(drawing(plan, ("toy", "f"), collected)).axes
    assert [text.get_text() for text in one.texts] == ["too few seeds are finished"]
    assert [text.get_text() for text in other.texts] == ["no run is finished"]
