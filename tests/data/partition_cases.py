"""What the tests of the partition schemes share: labels, strategies and the common checks."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from fedbench.data.partition import label_counts

FAST = settings(max_examples=40, deadline=None)
concentrations = st.sampled_from([1e-6, 0.01, 0.1, 0.5, 1.0, 10.0, 1e6])
seeds = st.integers(0, 2**32 - 1)
class_sizes = st.lists(st.integers(1, 60), min_size=1, max_size=8)


def balanced(classes, each):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(classes), each))


def labels_of(sizes):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(len(sizes)), sizes))


def split(rule, labels, clients, seed=0):
    """The parts and their label counts, after the checks that hold for every scheme."""
    parts = rule(labels, clients, np.random.default_rng(seed))
    assert len(parts) == clients
    assert all(part.dtype == np.int64 and np.all(np.diff(part) > 0) for part in parts)
    used = np.concatenate(parts)
    assert len(np.unique(used)) == len(used)
    assert used.min() >= 0
    assert used.max() < len(labels)
    return parts, label_counts(labels, parts, int(labels.max()) + 1)
