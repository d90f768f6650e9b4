"""Tables of a partition, and the test split that follows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.data.partition import label_counts, mirror
from fedbench.data.partitions.dirichlet import DP, DY
from fedbench.data.skew_metrics import (
    effective_classes,
    label_divergence,
    label_skew,
    pairwise_skew,
    size_spread,
)
from tests.data.partition_cases import FAST, balanced, labels_of, seeds, split


def test_skew_tables_of_a_worked_example():
    labels = np.array([0, 0, 1, 1, 2, 2])
    counts = label_counts(labels, [np.array([0, 1]), np.array([2, 4, 5])], classes=4)
    assert counts.tolist() == [[2, 0, 0, 0], [0, 1, 2, 0]]
    assert counts.sum(axis=1).tolist() == [2, 3]
    assert np.count_nonzero(counts, axis=1).tolist() == [1, 2]
    # all: .4 .2 .4 · client 1: |.6|+|.2|+|.4| = 1.2 · client 2: |.4|+|2/15|+|4/15| = 0.8
    assert label_skew(counts) == pytest.approx((1.2 + 0.8) / 2 / 2)
    assert label_skew(np.eye(4, dtype=int)) == pytest.approx(1 - 1 / 4)
    assert label_skew(np.ones((3, 4), int)) == 0


def test_skew_of_two_clients_worked_by_hand():
    counts = np.array([[4, 0, 0], [1, 1, 2]])  # 1 0 0 and ¼ ¼ ½
    assert size_spread(np.array([[1, 1], [4, 2]])) == pytest.approx(0.5)  # sizes 2 and 6: 2/4
    assert pairwise_skew(counts) == pytest.approx(3 / 4)
    assert effective_classes(counts) == pytest.approx([1, 2**1.5])  # 0 and ½ + ½ + ½ bits
    # their mean is ⅝ ⅛ ¼
    mean = 5 / 8 * np.log2(8 / 5) + 1 / 8 * 3 + 1 / 4 * 2
    assert label_divergence(counts) == pytest.approx(mean - (0 + 1.5) / 2)


def test_skew_at_its_ends():
    alike, apart = np.tile([3, 1, 2], (5, 1)), np.eye(4, dtype=int) * [[1], [2], [3], [4]]
    for measure in (size_spread, label_skew, pairwise_skew, label_divergence):
        assert measure(alike) == pytest.approx(0, abs=1e-12)
    assert pairwise_skew(apart) == 1
    assert label_divergence(apart) == pytest.approx(2)  # log₂ 4
    assert effective_classes(apart) == pytest.approx(np.ones(4))
    assert effective_classes(np.ones((2, 7), int)) == pytest.approx([7, 7])
    assert pairwise_skew(apart[:1]) == 0  # one client, no pair


@FAST
@given(clients=st.integers(1, 8), classes=st.integers(1, 6), seed=seeds)
def test_skew_measures_keep_their_ranges_and_orders(clients, classes, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 20, (clients, classes))
    counts[:, rng.integers(classes)] += 1
    to_all, pairs = label_skew(counts), pairwise_skew(counts)
    assert 0 <= pairs <= 1
    assert 0 <= to_all < 1
    assert 0 <= label_divergence(counts) <= np.log2(min(clients, classes)) + 1e-12
    assert np.all(effective_classes(counts) >= 1 - 1e-12)
    assert np.all(effective_classes(counts) <= np.count_nonzero(counts, axis=1) + 1e-9)
    # sizes do not matter to a distance between distributions, nor the order of clients
    again = rng.permutation(counts * rng.integers(1, 9, (clients, 1)))
    assert pairwise_skew(again) == pytest.approx(pairs)
    assert label_divergence(again) == pytest.approx(label_divergence(counts), abs=1e-12)


@pytest.mark.parametrize(
    "measure", [label_skew, pairwise_skew, label_divergence, lambda c: -effective_classes(c).mean()]
)
def test_skew_falls_as_the_concentration_rises(measure):
    found = [measure(split(DP(delta), balanced(10, 500), 50)[1]) for delta in (0.1, 0.3, 1.0, 10.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] + 0.2


def test_mirror_divides_the_test_set_by_the_training_shares():
    counts = np.array([[30, 0, 1], [10, 5, 1]])
    labels = np.repeat([0, 1, 2], [8, 3, 4])
    parts = mirror(counts, labels, np.random.default_rng(0))
    assert label_counts(labels, parts, 3).tolist() == [[6, 0, 2], [2, 3, 2]]
    assert sorted(np.concatenate(parts)) == list(range(15))


@FAST
@given(sizes=st.lists(st.integers(5, 40), min_size=2, max_size=6), seed=seeds)
def test_mirror_uses_every_test_sample_once(sizes, seed):
    rng = np.random.default_rng(seed)
    _, counts = split(DY(0.5, "fedadc"), labels_of(sizes), 5, seed)
    labels = rng.integers(0, len(sizes), 50)
    parts = mirror(counts, labels, rng)
    assert sorted(np.concatenate(parts)) == list(range(50))
    shares = counts / counts.sum(axis=0) * np.bincount(labels, minlength=len(sizes))
    assert np.all(np.abs(label_counts(labels, parts, len(sizes)) - shares) < 1 + 1e-9)
