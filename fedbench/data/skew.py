"""How unequal a partition is, in small tables."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedbench.data.partition import Indices


def label_counts(
    labels: NDArray[np.int64], parts: Sequence[Indices], classes: int
) -> NDArray[np.int64]:
    """Count the samples of each class on each client: (clients, classes)."""
    rows = [np.bincount(labels[part], minlength=classes) for part in parts]
    return np.array(rows, dtype=np.int64)


def client_sizes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the samples of each client, from the label counts."""
    sizes: NDArray[np.int64] = counts.sum(axis=1)
    return sizes


def classes_held(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the classes each client has a sample of, from the label counts."""
    held: NDArray[np.int64] = np.count_nonzero(counts, axis=1)
    return held


def label_skew(counts: NDArray[np.int64]) -> float:
    """Average over clients the distance of the client's label distribution to that of all.

    The distance is total variation: 0 if all clients are alike, up to 1−1/C if each of C equal
    classes lives on clients of its own. Clients count alike, whatever their size.
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) / counts.sum()
    return float(np.abs(shares - overall).sum(axis=1).mean() / 2)
