"""DR: each client draws class ratios, and one scale for all clients turns them into counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.data.partition import Concentration, Indices, Partition, by_class, deal, redraw


@dataclass(frozen=True)
class DR(Partition):
    """Give client i round(scale·ratio_ic) samples of class c, with ratio_i ~ Dir(α·1_C).

    scale = min_c n_c / Σ_i ratio_ic is the largest at which no class runs out. Clients have equal
    sizes up to rounding, and samples of classes that are asked for less are not used: with 100
    clients 87, 75 and 68 % of CIFAR-10 are used for α = 1, 0.1 and 0.01 (RMFL's code). So a change
    of α changes both skew and amount of data; the partition `DP` uses all data.
    """

    by_labels = True

    alpha: Concentration = 0.1  # the smaller, the more skewed

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)

        def draw() -> NDArray[np.int64]:
            ratios = rng.dirichlet(np.full(len(sizes), self.alpha), size=clients)
            with np.errstate(divide="ignore"):  # a class that no client asks for sets no limit
                scale = (sizes / ratios.sum(axis=0)).min()
            return _round(scale * ratios, sizes)

        return deal(groups, redraw(draw, 1, self, remedy=" or the partition 'dp'"))[0]


def _round(wanted: NDArray[np.float64], sizes: Indices) -> NDArray[np.int64]:
    """Round to whole samples; where that exceeds a class, undo the largest roundings up."""
    counts = np.rint(wanted).astype(np.int64)
    over = counts.sum(axis=0) - sizes
    for c in np.flatnonzero(over > 0):
        counts[np.argsort(wanted[:, c] - counts[:, c], kind="stable")[: over[c]], c] -= 1
    return counts
