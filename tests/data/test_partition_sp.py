"""SP: exactly s classes on every client, every sample used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.data.partitions.iid_and_shards import SP
from tests.data.partition_cases import FAST, balanced, labels_of, seeds, split


@pytest.mark.parametrize(("s", "blocks"), [(2, {250}), (3, {166, 167}), (4, {125}), (10, {50})])
def test_sp_at_the_papers_setting_has_the_printed_block_sizes(s, blocks):
    _, counts = split(SP(s), balanced(10, 5000), 100)
    assert set(counts[counts > 0]) == blocks
    assert set(np.count_nonzero(counts, axis=1)) == {s}
    assert set(np.count_nonzero(counts, axis=0)) == {100 * s // 10}
    assert counts.sum(axis=1).max() - counts.sum(axis=1).min() <= s
    assert counts.sum() == 50_000


@FAST
@given(data=st.data(), classes=st.integers(1, 8), seed=seeds)
def test_sp_gives_exactly_s_classes_and_uses_every_sample(data, classes, seed):
    s = data.draw(st.integers(1, classes))
    unit = classes // np.gcd(classes, s)
    clients = data.draw(st.integers(1, 4)) * unit
    blocks = clients * s // classes
    sizes = [data.draw(st.integers(blocks, 3 * blocks + 5)) for _ in range(classes)]
    _, counts = split(SP(s), labels_of(sizes), int(clients), seed)
    assert set(np.count_nonzero(counts, axis=1)) == {s}
    assert counts.sum(axis=0).tolist() == sizes
    for c in range(classes):
        held = counts[:, c][counts[:, c] > 0]
        assert len(held) == blocks
        assert held.max() - held.min() <= 1


@FAST
@given(s=st.integers(1, 6), each=st.integers(12, 40), seed=seeds)
def test_sp_sizes_differ_by_at_most_s_if_classes_are_equal(s, each, seed):
    _, counts = split(SP(s), balanced(6, each), 12, seed)
    assert counts.sum(axis=1).max() - counts.sum(axis=1).min() <= s


@FAST
@given(s=st.integers(1, 6), clients=st.integers(1, 5), seed=seeds)
def test_sp_clients_together_hold_every_class_and_every_sample(s, clients, seed):
    labels = balanced(6, 40)
    parts, counts = split(SP(s), labels, 6 * clients, seed)
    assert sorted(np.concatenate(parts)) == list(range(240))
    assert set(np.count_nonzero(counts, axis=0)) == {clients * s}  # a class's blocks


def test_sp_mixes_all_pairs_of_classes():
    _, counts = split(SP(2), balanced(4, 600), 600)
    pairs = np.unique(counts > 0, axis=0, return_counts=True)[1]
    assert len(pairs) == 6
    assert pairs.min() > 60  # 100 each if pairs are alike


BAD_SP = [
    (SP(5), 4, "SP(s=5): s must be at most 4, the number of classes"),
    (SP(2), 5, "SP(s=2): 5 clients × 2 blocks must be a multiple of 4, the classes"),
    (
        SP(4),
        26,
        "26 clients need 26 blocks of every class, but the smallest has 25 samples; use few",
    ),
]


@pytest.mark.parametrize(("rule", "clients", "sentence"), BAD_SP)
def test_sp_refuses_what_cannot_be_cut(refuses, rule, clients, sentence):
    with refuses() as caught:
        split(rule, balanced(4, 25), clients)
    assert sentence in str(caught.value)
