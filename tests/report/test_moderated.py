"""Moderated variances, by hand."""

from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.report.values.moderated import moderated, prior_of


def test_equal_variances_are_pooled() -> None:
    # no scatter at all: each is the mean, with the degrees of freedom of all together, less one
    variance, freedom = moderated(pd.Series({"A": 2.0, "B": 2.0, "C": 2.0}), 4)
    assert variance.to_dict() == {"A": 2, "B": 2, "C": 2}
    assert freedom == 8


def test_variances_that_differ_by_chance_alone_are_pooled() -> None:
    # ln 1 and ln 3 scatter with variance (ln 3)²/2 = 0.60, less than ψ′(1) = π²/6 = 1.64
    prior = prior_of(np.array([1.0, 3.0]), 2)
    assert (prior.variance, prior.freedom) == (2, inf)
    variance, freedom = moderated(pd.Series({"A": 1.0, "B": 3.0}), 2)
    assert (variance.to_list(), freedom) == ([2, 2], 2)


def test_a_prior_by_hand() -> None:
    # ln 1 and ln e⁴: variance 8; of this ψ′(1) = π²/6 is chance with 2 degrees of freedom, and
    # ψ′(f/2) = 8 − π²/6 = 6.355 where f/2 = 0.4319: ψ′(x) = 1/x² + ψ′(1 + x) = 5.360 + 0.995
    prior = prior_of(np.array([1.0, np.exp(4)]), 2)
    assert prior.freedom == pytest.approx(2 * 0.4319, abs=1e-3)
    # the mean logarithm is 2; ψ(1) − ln 1 = −0.577, ψ(x) − ln x = −2.344 + 0.840 = −1.505
    assert prior.variance == pytest.approx(np.exp(2 + 0.577 - 1.505), rel=2e-3)
    variance, freedom = moderated(pd.Series({"A": 1.0, "B": np.exp(4), "C": 1.0}), 2)
    assert variance["A"] == variance["C"] < variance["B"]
    assert 2 < freedom < 4


def test_the_prior_of_many_draws_is_found_again() -> None:
    draw = np.random.default_rng(0)
    true = 5.0 * 6 / draw.chisquare(6, 20_000)
    prior = prior_of(true * draw.chisquare(3, 20_000) / 3, 3)
    assert (prior.variance, prior.freedom) == pytest.approx((5, 6), rel=0.1)


def test_a_variance_of_zero_is_not_sure() -> None:
    # two methods alike by chance, among methods that are not
    own = pd.Series([0.0, *np.linspace(0.5, 2, 20)])
    variance, freedom = moderated(own, 2)
    assert variance[0] > 0
    assert freedom > 2
    assert moderated(pd.Series([0.0, 0.0, 0.0]), 2)[0].to_list() == [0, 0, 0]


@given(
    st.lists(st.floats(0.01, 100), min_size=2, max_size=30), st.integers(1, 9), st.floats(0.1, 10)
)
def test_units_do_not_matter_and_variances_keep_their_order(
    own: list[float], freedom: int, factor: float
) -> None:
    first, degrees = moderated(pd.Series(own), freedom)
    scaled, again = moderated(factor * pd.Series(own), freedom)
    assert scaled.to_numpy() == pytest.approx(factor * first.to_numpy(), rel=1e-6)
    assert degrees == pytest.approx(again, rel=1e-6)
    assert freedom <= degrees * (1 + 1e-9)
    order = np.argsort(own)
    assert (np.diff(first.to_numpy()[order]) >= -1e-9 * first.max()).all()
