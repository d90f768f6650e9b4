"""Tables of a partition, and the test split that follows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.data.mirror import mirror
from fedbench.data.partitions.dy import DY
from fedbench.data.skew import classes_held, client_sizes, label_counts, label_skew
from tests.test_partition_cases import FAST, labels_of, seeds, split


def test_skew_tables_of_a_worked_example():
    labels = np.array([0, 0, 1, 1, 2, 2])
    counts = label_counts(labels, [np.array([0, 1]), np.array([2, 4, 5])], classes=4)
    assert counts.tolist() == [[2, 0, 0, 0], [0, 1, 2, 0]]
    assert client_sizes(counts).tolist() == [2, 3]
    assert classes_held(counts).tolist() == [1, 2]
    # all: .4 .2 .4 · client 1: |.6|+|.2|+|.4| = 1.2 · client 2: |.4|+|2/15|+|4/15| = 0.8
    assert label_skew(counts) == pytest.approx((1.2 + 0.8) / 2 / 2)
    assert label_skew(np.eye(4, dtype=int)) == pytest.approx(1 - 1 / 4)
    assert label_skew(np.ones((3, 4), int)) == 0


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
