"""Partitions without shares to draw: IID, users of the data, shards, and s classes per client."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.partition import ByLabels, Indices, Partition, by_class, deal


@dataclass(frozen=True)
class IID(ByLabels):
    """Shuffle the samples and cut them into equal parts; at most clients−1 samples are not used.

    `stratified` gives every client ⌊n_c/clients⌋ samples of each class c, as the code of FedDyn
    (Acar et al., ICLR 2021) does for CIFAR-100; the rest of a class is not used.
    """

    stratified: bool = False

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Cut one permutation of all samples, or one per class."""
        if not self.stratified:
            size = len(labels) // clients
            return list(rng.permutation(len(labels))[: size * clients].reshape(clients, size))
        groups, sizes = by_class(labels, rng)
        share = sizes // clients
        if not share.any():
            raise FedbenchError(
                f"the largest class has {sizes.max()} samples, fewer than the {clients} clients; "
                "use fewer clients or stratified=False"
            )
        return deal(groups, np.tile(share, (clients, 1)))


@dataclass(frozen=True)
class Natural(Partition):
    """One client per group of the data, as in LEAF (Caldas et al., 2018).

    Groups with fewer than `least` samples are joined in random order until together they have so
    many, or dropped. Of more groups than clients as many are drawn at random. The samples of all
    others are not used.
    """

    least: Count = 1  # samples of a client
    small: Literal["join", "drop"] = "join"  # what becomes of smaller groups

    def split(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator, groups: Indices
    ) -> list[Indices]:
        """The samples of each group, in the order of their numbers; joined groups are last."""
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        parts = [each for each in members if len(each) >= self.least]
        if self.small == "join":
            parts += self._joined([each for each in members if len(each) < self.least], rng)
        if clients > len(parts):
            raise FedbenchError(
                f"of {len(members)} groups {len(parts)} clients with at least {self.least} samples "
                f"can be made, but clients = {clients}"
            )
        chosen = np.sort(rng.choice(len(parts), clients, replace=False))
        return [parts[k] for k in chosen]

    def _joined(self, small: list[Indices], rng: np.random.Generator) -> list[Indices]:
        """Groups put together until they are large enough; what is left joins the last of them."""
        joined: list[Indices] = []
        waiting = np.array([], dtype=np.int64)
        for k in rng.permutation(len(small)):
            waiting = np.concatenate([waiting, small[k]])
            if len(waiting) >= self.least:
                joined, waiting = [*joined, waiting], waiting[:0]
        if joined and len(waiting):
            joined[-1] = np.concatenate([joined[-1], waiting])
        return joined


@dataclass(frozen=True)
class Shards(ByLabels):
    """Sort by class, cut into clients·each shards of equal size, and deal each client `each`.

    The non-IID MNIST of McMahan et al. (AISTATS 2017, Section 3): 200 shards of 300 digits, two for
    each of 100 clients, most of whom then hold two digits; a shard at the border of two classes has
    both, and a client may hold two shards of one class. At most clients·each−1 samples are unused.
    """

    each: Count = 2  # shards of a client

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Deal the shards at random; which samples of a class lie in which shard is random, too."""
        ordered = np.concatenate(by_class(labels, rng)[0])
        size, shards = len(labels) // (clients * self.each), clients * self.each
        if not size:
            raise FedbenchError(f"{clients} clients × {self.each} shards are more than the samples")
        dealt = ordered[: size * shards].reshape(shards, size)[rng.permutation(shards)]
        return list(dealt.reshape(clients, self.each * size))


@dataclass(frozen=True)
class SP(ByLabels):
    """Cut every class into clients·s/C equal blocks and give each client s blocks of s classes.

    Every sample is used. Blocks of a class differ by at most one sample, so that with classes of
    equal size clients differ by at most s. FedADC (Ozfatura et al., 2021) calls s the maximum
    number of classes of a client; here it is the exact number, as in its author's later code.
    """

    s: Count = 2  # classes per client, at most the number of classes

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Cut the classes into blocks and give each client s of them."""
        groups, sizes = by_class(labels, rng)
        classes, smallest = len(sizes), sizes.min()
        blocks, rest = divmod(clients * self.s, classes)
        if self.s > classes:
            raise FedbenchError(f"s must be at most {classes}, the number of classes")
        if rest:
            raise FedbenchError(
                f"{clients} clients × {self.s} blocks must be a multiple of {classes}, the classes"
            )
        if blocks > smallest:
            raise FedbenchError(
                f"{clients} clients need {blocks} blocks of every class, but the smallest has "
                f"{smallest} samples; use fewer clients or a smaller s"
            )
        slots = rng.permutation(np.repeat(np.arange(classes), blocks)).reshape(clients, self.s)
        held = _separate(slots, classes, rng)
        counts = np.zeros_like(held)
        for c, size in enumerate(sizes):
            cuts = np.arange(blocks + 1) * size // blocks
            counts[held[:, c] == 1, c] = rng.permutation(np.diff(cuts))
        return deal(groups, counts)


def _separate(slots: Indices, classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Swap slots, in place, until no client holds a class twice; returns the counts (K, C)."""
    held = np.stack([np.bincount(row, minlength=classes) for row in slots])
    for k, row in enumerate(slots):
        for j in range(len(row)):
            while held[k, row[j]] > 1:
                c = row[j]
                other = rng.choice(np.flatnonzero(held[:, c] == 0))  # it gets the surplus class …
                offered = slots[other]
                useful = np.flatnonzero(held[k, offered] == 0)  # … for one that this client lacks
                if not len(useful):  # or else for one that the other has twice: fewer are left
                    useful = np.flatnonzero(held[other, offered] > 1)
                i = rng.choice(useful)
                d = offered[i]
                row[j], offered[i] = d, c
                held[k, [c, d]] += [-1, 1]
                held[other, [c, d]] += [1, -1]
    return held
