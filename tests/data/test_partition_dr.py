"""DR: no class over-drawn, the printed share of the data used."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench.base.errors import FedbenchError
from fedbench.data.partitions.dirichlet import DR, _round
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
@given(alpha=concentrations, sizes=class_sizes, clients=st.integers(1, 20), seed=seeds)
def test_dr_never_over_draws_and_sizes_are_equal_up_to_rounding(alpha, sizes, clients, seed):
    try:
        _, counts = split(DR(alpha), labels_of(sizes), min(clients, sum(sizes)), seed)
    except FedbenchError as refusal:
        assume("draws gave each" not in str(refusal))
        raise
    assert np.all(counts.sum(axis=0) <= sizes)
    held = counts.sum(axis=1)
    assert held.max() - held.min() <= 2 * len(sizes)
    # the class that sets the scale is used up, but for rounding
    assert np.min(np.array(sizes) - counts.sum(axis=0)) <= clients / 2


@pytest.mark.parametrize(("alpha", "share"), [(1.0, 0.87), (0.1, 0.75), (0.01, 0.68)])
def test_dr_uses_the_share_measured_for_cifar10(alpha, share):
    labels = balanced(10, 5000)
    used = [split(DR(alpha), labels, 100, seed)[1].sum() / 50_000 for seed in range(20)]
    assert np.mean(used) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(("alpha", "share"), [(1.0, 0.79), (0.1, 0.53), (0.01, 0.30)])
def test_dr_uses_the_share_measured_for_cifar100(alpha, share):
    labels = balanced(100, 500)
    used = [split(DR(alpha), labels, 100, seed)[1].sum() / 50_000 for seed in range(20)]
    assert np.mean(used) == pytest.approx(share, abs=0.03)


def test_dr_leaves_about_150_samples_a_client_of_cifar100_at_the_smallest_concentration():
    sizes = [split(DR(0.01), balanced(100, 500), 100, s)[1].sum(axis=1).mean() for s in range(5)]
    assert np.mean(sizes) == pytest.approx(150, abs=15)


def test_dr_most_clients_have_one_or_two_classes_at_the_smallest_concentration():
    # RMFL on its Fig. 6, CIFAR-10: "the majority … one or two classes", "rare … four or more"
    held = np.concatenate(
        [
            np.count_nonzero(split(DR(0.01), balanced(10, 5000), 100, seed)[1], axis=1)
            for seed in range(5)
        ]
    )
    assert np.mean(held <= 2) > 0.8
    assert np.mean(held >= 4) < 0.06


def test_dr_takes_back_the_largest_round_ups_of_an_over_drawn_class():
    wanted = np.array([[1.5, 0.4], [1.7, 0.4], [1.8, 0.4]])  # 5 and 1.2; rounded 2+2+2 and 0
    assert _round(wanted, np.array([5, 9])).tolist() == [[1, 0], [2, 0], [2, 0]]


def test_dr_gives_up_with_a_sentence_if_no_draw_serves_all(refuses):
    with refuses(r"DR\(alpha=1e-06\): none of 1,000 draws gave each of"):
        split(DR(1e-6), labels_of([1, 1, 18]), 20)
