"""DP: exact quotas, drawn from the priors while classes last."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench.data.partitions.dirichlet import DP, _turns
from tests.data.partition_cases import (
    FAST,
    balanced,
    class_sizes,
    concentrations,
    labels_of,
    seeds,
    split,
)


@FAST
@given(delta=concentrations, sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_dp_fills_every_quota_without_replacement(delta, sizes, clients, seed):
    assume(clients <= sum(sizes))
    _, counts = split(DP(delta), labels_of(sizes), clients, seed)
    assert set(counts.sum(axis=1)) == {sum(sizes) // clients}


@pytest.mark.parametrize(("clients", "unused"), [(30, 20), (100, 0), (300, 200)])
def test_dp_leaves_the_printed_number_of_samples_unused(clients, unused):
    _, counts = split(DP(0.3), balanced(10, 5000), clients)
    assert 50_000 - counts.sum() == unused


@pytest.mark.parametrize(
    ("classes", "each", "clients", "quota"),
    [(10, 5000, 100, 500), (200, 500, 100, 1000), (100, 500, 500, 100), (100, 500, 30, 1666)],
)
def test_dp_has_the_printed_quotas(classes, each, clients, quota):
    _, counts = split(DP(0.3), balanced(classes, each), clients)
    assert set(counts.sum(axis=1)) == {quota}


def test_dp_the_last_to_fill_deviate_from_their_priors():
    # Four clients ask for 50 samples of one of two classes with 100 each. Where the demand is 2 to
    # 2 all get what they ask for; where it is 3 to 1 or 4 to 0, all who ask for what runs out end
    # with samples of both.
    mixed = [(split(DP(1e-6), balanced(2, 100), 4, s)[1] > 0).all(axis=1).sum() for s in range(30)]
    assert set(mixed) == {0, 3, 4}


def test_dp_follows_the_priors_while_classes_last():
    # Ten clients share 40 samples of 10,000: no class runs out, so counts are Dirichlet-multinomial
    # with variance q·p(1−p)·(q + A)/(1 + A), q = 1000, A = 4δ, p = 1/4.
    labels, delta = balanced(4, 10_000), 0.5
    runs = [split(DP(delta), labels, 40, seed)[1] for seed in range(20)]
    q, a = 1000, 4 * delta
    assert np.var(runs) == pytest.approx(q * 0.25 * 0.75 * (q + a) / (1 + a), rel=0.2)


def test_dp_turns_pass_among_the_clients_that_are_not_full():
    rng = np.random.default_rng(0)
    turns = np.array([_turns(2, 2, rng) for _ in range(4000)])
    assert np.all(np.sort(turns, axis=1) == [0, 0, 1, 1])
    orders, times = np.unique(turns, axis=0, return_counts=True)
    # a fair coin until one client is full: 0011 and 1100 ¼ each, the other four ⅛ each
    expected = [0.25, 0.125, 0.125, 0.125, 0.125, 0.25]
    assert len(orders) == 6
    assert np.allclose(times / 4000, expected, atol=0.025)


def test_dp_ends_even_if_a_prior_has_no_mass_left():
    _, counts = split(DP(1e-6), balanced(3, 40), 4)
    assert counts.sum(axis=0).tolist() == [40, 40, 40]
