"""Two folders of results are joined cell by cell; differences beyond the seeds are told."""

import math

import pytest

from fedbench.report.compare_results import Side, _p, compare
from fedbench.report.values.numbers import with_deviation
from fedbench.store import Results, write_frame
from tests.report.report_case import FULL, case, frame_of

QUIET = {seed: [0.1, value] for seed, value in enumerate([0.50, 0.51, 0.52])}
FAR = {seed: [0.1, value] for seed, value in enumerate([0.70, 0.71, 0.72])}
NOISY = {seed: [0.1, value] for seed, value in enumerate([0.30, 0.55, 0.80])}


@pytest.fixture
def side(tmp_path):
    """`side("a", curves)`: a folder of results in which method A has these accuracies on MNIST."""
    plan = case(tmp_path, FULL, ("t",))

    def made(name, curves):
        write_frame(frame_of(plan, curves), Results(tmp_path / name).frame(FULL, "toy"))
        return Side(plan, tmp_path / name)

    return made


def test_a_difference_of_twenty_seeds_deviations_is_told(side):
    found = compare(side("a", QUIET), side("b", FAR))
    (pair,) = found.cells.itertuples()
    assert pair.difference == pytest.approx(20)  # 71 − 51 points
    # Welch: 20 / √(1/3 + 1/3) = 24.5 with 4 degrees of freedom
    assert pair.p == pytest.approx(1.6e-5, rel=0.05)
    assert pair.apart
    assert (pair.table, pair.method, len(pair.values_one)) == ("toy/t", "A", 3)


def test_a_difference_within_the_spread_of_the_seeds_is_not_told(side):
    (pair,) = compare(side("a", QUIET), side("b", NOISY)).cells.itertuples()
    assert pair.difference == pytest.approx(4)
    assert pair.p > 0.5
    assert not pair.apart


def test_equal_runs_and_single_seeds(side):
    (same,) = compare(side("a", QUIET), side("b", QUIET)).cells.itertuples()
    assert (same.same, same.apart) == (True, False)
    (alone,) = compare(side("c", {0: [0.1, 0.5]}), side("d", {0: [0.1, 0.9]})).cells.itertuples()
    assert math.isnan(alone.p)
    assert not alone.apart


def test_runs_without_any_spread(side):
    flat = {seed: [0.1, 0.5] for seed in range(3)}
    other = {seed: [0.1, 0.25] for seed in range(3)}
    (pair,) = compare(side("a", flat), side("b", other)).cells.itertuples()
    assert pair.p == 0.0
    assert pair.apart
    assert math.isclose(pair.difference, -25)


def test_cells_of_one_side_alone_are_counted(side):
    found = compare(side("a", QUIET), side("b", {}))
    assert (len(found.cells), found.only_one, found.only_other) == (0, 1, 0)


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [
        (61.2, 0.412, "61.20 ± 0.41"),
        (61.2, None, "61.20"),
        (61.2, math.nan, "61.20"),
        (None, None, "–"),
        (math.inf, None, "not reached"),
        (-3.98801e21, None, "−3.99e+21"),
    ],
)
def test_a_mean_with_its_deviation(mean, deviation, text):
    assert with_deviation(mean, deviation, 2) == text


def test_equal_values_are_no_difference_and_no_warning():
    assert _p((0.5, 0.5 + 1e-16, 0.6), (0.5, 0.5 + 1e-16, 0.6)) == 1
