"""Divides the test set as the training set was: the split behind personalised accuracy."""

import numpy as np
from numpy.typing import NDArray

from fedbench.data.partition import Indices


def mirror(
    counts: NDArray[np.int64], labels: NDArray[np.int64], rng: np.random.Generator
) -> list[Indices]:
    """Give each client the share of every class's test samples that it has of the training ones.

    `counts` are the label counts of the training partition (clients, classes), `labels` those of
    the test set. Every test sample of a class that was trained on is used once; a client with a
    small share of everything may get none.
    """
    parts: list[list[Indices]] = [[] for _ in counts]
    for c in np.flatnonzero(counts.sum(axis=0)):
        group = rng.permutation(np.flatnonzero(labels == c))
        ends = counts[:, c].cumsum() * len(group) // counts[:, c].sum()
        for part, piece in zip(parts, np.split(group, ends[:-1]), strict=True):
            part.append(piece)
    return [np.sort(np.concatenate(part)) for part in parts]
