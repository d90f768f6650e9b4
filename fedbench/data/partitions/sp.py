"""SP (sort and partition): each client holds samples of exactly s classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.partition import Indices, Partition, by_class, deal


@dataclass(frozen=True)
class SP(Partition):
    """Cut every class into clients·s/C equal blocks and give each client s blocks of s classes.

    Every sample is used. Blocks of a class differ by at most one sample, so that with classes of
    equal size clients differ by at most s. FedADC (Ozfatura et al., 2021) calls s the maximum
    number of classes of a client; here it is the exact number, as in its author's later code.
    """

    by_labels = True

    s: Count = 2  # classes per client, at most the number of classes

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Cut the classes into blocks and give each client s of them."""
        groups, sizes = by_class(labels, rng)
        blocks = self._blocks(sizes, clients)
        slots = rng.permutation(np.repeat(np.arange(len(groups)), blocks)).reshape(clients, self.s)
        held = _separate(slots, len(groups), rng)
        counts = np.zeros_like(held)
        for c, size in enumerate(sizes):
            cuts = np.arange(blocks + 1) * size // blocks
            counts[held[:, c] == 1, c] = rng.permutation(np.diff(cuts))
        return deal(groups, counts)[0]

    def _blocks(self, sizes: Indices, clients: int) -> int:
        """The number of blocks of each class; raises `FedbenchError` if it is not whole."""
        classes, smallest = len(sizes), sizes.min()
        blocks, rest = divmod(clients * self.s, classes)
        if self.s > classes:
            raise FedbenchError(f"{self}: s must be at most {classes}, the number of classes")
        if rest:
            raise FedbenchError(
                f"{self}: {clients} clients × {self.s} blocks cannot be shared equally by "
                f"{classes} classes; clients·s must be a multiple of {classes}"
            )
        if blocks > smallest:
            raise FedbenchError(
                f"{self}: {clients} clients need {blocks} blocks of every class, but the smallest "
                f"class has {smallest} samples; use fewer clients or a smaller s"
            )
        return blocks


def _separate(slots: Indices, classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Swap slots, in place, until no client holds a class twice; returns the counts (K, C)."""
    held = np.stack([np.bincount(row, minlength=classes) for row in slots])
    for k, row in enumerate(slots):
        for j in range(len(row)):
            while held[k, row[j]] > 1:
                _swap(slots, held, (k, j), rng)
    return held


def _swap(
    slots: Indices, held: NDArray[np.int64], slot: tuple[int, int], rng: np.random.Generator
) -> None:
    """Give the surplus class of a slot to a client that lacks it, in exchange for another class.

    Every call lowers the number of surplus slots by at least one, so the loop above ends: the other
    client gives a class that this one lacks, or else a class that it holds twice.
    """
    k, c = slot[0], slots[slot]
    other = rng.choice(np.flatnonzero(held[:, c] == 0))
    offered = slots[other]
    useful = np.flatnonzero(held[k, offered] == 0)
    if not len(useful):
        useful = np.flatnonzero(held[other, offered] > 1)
    i = rng.choice(useful)
    d = offered[i]
    slots[slot], slots[other, i] = d, c
    held[k, [c, d]] += [-1, 1]
    held[other, [c, d]] += [1, -1]
