"""IID: equal sizes, and equal class counts if stratified."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench.data.partitions.iid_and_shards import IID
from tests.data.partition_cases import FAST, balanced, class_sizes, labels_of, seeds, split


@FAST
@given(sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_iid_sizes_are_equal_and_few_samples_unused(sizes, clients, seed):
    assume(clients <= sum(sizes))
    _, counts = split(IID(), labels_of(sizes), clients, seed)
    assert set(counts.sum(axis=1)) == {sum(sizes) // clients}


@FAST
@given(sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_stratified_clients_have_the_same_class_counts(sizes, clients, seed):
    assume(clients <= max(sizes))
    _, counts = split(IID(stratified=True), labels_of(sizes), clients, seed)
    assert np.array_equal(counts, np.tile(np.array(sizes) // clients, (clients, 1)))


def test_stratified_refuses_more_clients_than_a_class_has_samples(refuses):
    with refuses("largest class has 5 samples, fewer than the 6"):
        split(IID(stratified=True), balanced(4, 5), 6)
