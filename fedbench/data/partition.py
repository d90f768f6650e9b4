"""The base of partitions: a rule takes training labels and gives each client its samples."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError

Indices = NDArray[np.int64]
# Beyond these limits a draw in floating point is a single class, or the uniform distribution.
Concentration = Annotated[float, Ge(1e-6), Le(1e6)]
ATTEMPTS = 1000


@dataclass(frozen=True)
class Partition(Checked, ABC):
    """A rule that divides a training set over clients; each is a file in `data/partitions`."""

    def __call__(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator
    ) -> list[Indices]:
        """Divide the samples: per client one ascending array of sample numbers, none twice."""
        if clients < 1 or clients > len(labels):
            raise FedbenchError(
                f"{self}: clients = {clients} is not allowed; "
                f"it must be 1…{len(labels)}, the number of training samples"
            )
        parts = self.split(labels, clients, rng)
        return [self._rows(client, part) for client, part in enumerate(parts)]

    def _rows(self, client: int, part: Indices) -> Indices:
        rows = np.asarray(part)
        if rows.size and (rows.ndim != 1 or rows.dtype.kind not in "iu"):
            raise FedbenchError(
                f"{self}: gave client {client} {rows.dtype} of shape {rows.shape}; it must give "
                "sample numbers (n,)"
            )
        return np.sort(rows).astype(np.int64, copy=False)

    @abstractmethod
    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide the samples; those of a client may be in any order."""


def by_class(labels: NDArray[Any], rng: np.random.Generator) -> list[Indices]:
    """The numbers of the samples of each class, shuffled; classes without samples are left out."""
    if labels.dtype.kind not in "iu":
        raise FedbenchError(
            f"labels of dtype {labels.dtype} have no classes to divide by; use the partition 'iid'"
        )
    return [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]


def deal(groups: list[Indices], counts: NDArray[np.int64]) -> tuple[list[Indices], Indices]:
    """Give client k the next `counts[k, c]` samples of each group c; returns the rest as well."""
    ends = counts.cumsum(axis=0)
    pieces = [np.split(group, ends[:, c]) for c, group in enumerate(groups)]
    *parts, rest = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
    return parts, rest


def capped(
    alpha: float, sizes: Indices, clients: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how many samples of each class each client gets: (clients, classes), all samples used.

    Each class is divided by proportions Dir(α·1_K), in which clients that hold n/K samples or more
    get nothing (Yurochkin et al., ICML 2019; FedDF, Lin et al., NeurIPS 2020). Where nobody would
    get anything, all counts are −1, which makes `redraw` draw again.
    """
    counts = np.zeros((clients, len(sizes)), dtype=np.int64)
    for c, n_c in enumerate(sizes):
        p = rng.dirichlet(np.full(clients, alpha))
        p[counts.sum(axis=1) >= sizes.sum() / clients] = 0
        if p.sum() == 0:  # the few clients with a share are full
            return np.full_like(counts, -1)
        ends = (np.cumsum(p / p.sum()) * n_c).astype(np.int64)
        ends[-1] = n_c
        counts[:, c] = np.diff(ends, prepend=0)
    return counts


def redraw(
    draw: Callable[[], NDArray[np.int64]], least: int, rule: Partition, attempts: int = ATTEMPTS
) -> NDArray[np.int64]:
    """Draw counts until every client has `least` samples; raises `FedbenchError` if none do."""
    for _ in range(attempts):
        counts = draw()
        if counts.sum(axis=1).min() >= least:
            return counts
    raise FedbenchError(
        f"{rule}: none of {attempts} draws gave each of {len(counts)} clients {least} or more "
        "samples; use fewer clients, more samples or a larger concentration"
    )
