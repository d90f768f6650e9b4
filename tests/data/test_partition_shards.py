"""Shards: sorted samples in equal pieces, a few for each client."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.base.errors import FedbenchError
from fedbench.data.partitions.iid_and_shards import Shards
from tests.data.partition_cases import FAST, balanced, class_sizes, labels_of, seeds, split


@FAST
@given(sizes=class_sizes, clients=st.integers(1, 12), each=st.integers(1, 4), seed=seeds)
def test_each_client_holds_so_many_runs_of_the_sorted_samples(sizes, clients, each, seed):
    labels = labels_of(sizes)
    size = len(labels) // (clients * each)
    if not size:
        with pytest.raises(FedbenchError, match=r"training samples|are more than the"):
            Shards(each)(labels, clients, np.random.default_rng(seed))
        return
    _, counts = split(Shards(each), labels, clients, seed)
    assert (counts.sum(axis=1) == each * size).all()
    # a shard of `size` sorted samples touches few classes: one for every border that it crosses
    borders = np.count_nonzero(np.diff(np.sort(labels)))
    assert np.count_nonzero(counts) <= clients * each + borders


def test_by_hand_three_classes_of_two_in_shards_of_one_class():
    # sorted: 0 0 | 1 1 | 2 2; three shards, one for each of three clients
    _, counts = split(Shards(1), np.array([2, 0, 1, 1, 0, 2]), 3)
    assert sorted(counts.tolist()) == [[0, 0, 2], [0, 2, 0], [2, 0, 0]]


def test_a_shard_across_a_border_has_both_classes():
    # sorted: 0 0 0 1 | 1 1 2 2
    _, counts = split(Shards(1), np.array([0, 1, 2, 0, 1, 2, 0, 1]), 2)
    assert sorted(counts.tolist()) == [[0, 2, 2], [3, 1, 0]]


def test_most_clients_of_mcmahans_partition_hold_two_digits_of_balanced_data():
    # 200 shards of 300 of ten classes of 6,000: no shard crosses a border, two of a class are rare
    counts = [split(Shards(2), balanced(10, 6000), 100, seed)[1] for seed in range(5)]
    held = np.concatenate([np.count_nonzero(each, axis=1) for each in counts])
    assert set(held) == {1, 2}
    assert np.mean(held == 2) == pytest.approx(1 - 19 / 199, abs=0.05)
    assert {int(x) for each in counts for x in each.flat} == {0, 300, 600}
