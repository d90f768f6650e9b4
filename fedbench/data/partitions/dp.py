"""DP: each client draws the same number of samples, one by one, from class shares drawn for it."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.data.partition import Concentration, Indices, Partition, by_class, deal


@dataclass(frozen=True)
class DP(Partition):
    """Give each client ⌊n/K⌋ samples whose classes it draws from its prior Dir(δ·1_C).

    At each step a random client that is not full draws a class of which samples are left, without
    replacement (FedDyn, Acar et al., ICLR 2021). The clients that fill last deviate from their
    priors, because classes have run out. At most K−1 samples are not used.
    """

    by_labels = True

    delta: Concentration = 0.3  # the smaller, the more skewed

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)
        priors = rng.dirichlet(np.full(len(groups), self.delta), size=clients)
        turns = _turns(clients, len(labels) // clients, rng)
        counts = _fill(priors, turns, sizes.tolist(), rng)
        return deal(groups, counts)[0]


def _turns(clients: int, quota: int, rng: np.random.Generator) -> list[int]:
    """Draw the order in which clients receive samples: client numbers, each `quota` times.

    Choosing a random client that is not full at each step gives the order of events of K
    independent Poisson clocks that stop after `quota` events each, which needs no loop.
    """
    times = rng.standard_exponential((clients, quota)).cumsum(axis=1)
    turns: list[int] = (times.argsort(axis=None) // quota).tolist()
    return turns


def _fill(
    priors: NDArray[np.float64], turns: list[int], left: list[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a class at each turn, from those of which samples are left; returns (K, C) counts."""
    counts = [[0] * len(left) for _ in priors]
    tables = _cumulate(priors, left)
    for k, u in zip(turns, rng.random(len(turns)).tolist(), strict=True):
        table = tables[k]
        c = bisect_right(table, u * table[-1])
        counts[k][c] += 1
        left[c] -= 1
        if left[c] == 0:
            tables = _cumulate(priors, left)
    return np.array(counts)


def _cumulate(priors: NDArray[np.float64], left: list[int]) -> list[list[float]]:
    """Cumulative sums of each client's prior over the classes of which samples are left."""
    remaining = (np.array(left) > 0).astype(np.float64)
    masked = priors * remaining
    # Deviation: FedDyn's code loops forever once a client's prior gives 0 to all classes that are
    # left; here such a client draws from them with equal probability.
    masked[masked.sum(axis=1) < np.finfo(np.float64).tiny] = remaining
    tables: list[list[float]] = masked.cumsum(axis=1).tolist()
    return tables
