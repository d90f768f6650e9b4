"""DP: exact quotas, drawn from the priors while classes last."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench.data.partitions.dp import DP, _turns
from fedbench.data.skew import client_sizes
from tests.test_partition_cases import (
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
    assert set(client_sizes(counts)) == {sum(sizes) // clients}


@pytest.mark.parametrize(("clients", "unused"), [(30, 20), (100, 0), (300, 200)])
def test_dp_leaves_the_printed_number_of_samples_unused(clients, unused):
    _, counts = split(DP(0.3), balanced(10, 5000), clients)
    assert 50_000 - counts.sum() == unused


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
