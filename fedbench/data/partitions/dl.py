"""DL: classes divided by Dirichlet proportions within groups of clients, then cut equally."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.data.partition import (
    EQUAL_SIZES,
    Concentration,
    Indices,
    Partition,
    by_class,
    capped,
    deal,
    redraw,
)

# At α = 0.1 and four equal classes about one draw in 4,000 gives each of ten clients enough, so
# that one is found in half a second; this many draws take ten seconds.
ATTEMPTS = 100_000


@dataclass(frozen=True)
class DL(Partition):
    """Divide classes by Dirichlet proportions within groups, then even out the clients' sizes.

    The shuffled samples are divided equally over groups of `group` clients. Within a group each
    class is divided by Dir(α·1_group), where clients that hold the group's average get no more; the
    group is drawn again until its smallest client has half the average. Then all samples are put in
    one row, client after client and class after class, and client i takes the i-th ⌊n/K⌋ of it: a
    client's surplus goes to its neighbours, and at most K−1 samples are not used. This is the
    public code of FedDF (Lin et al., NeurIPS 2020), on which FedGKD builds. Few classes
    at a small α have hardly any such draw: two at 0.1 are refused at once. A smaller `group`, DP
    and DR divide them.
    """

    by_labels = True

    alpha: Concentration = 0.5  # the smaller, the more skewed
    group: Count = 10  # clients; the last group may be smaller

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Put the samples in a row and cut it into equal slices."""
        row = np.concatenate(self.uncut(labels, clients, rng))
        size = len(labels) // clients
        return list(row[: size * clients].reshape(clients, size))

    def uncut(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Each client's samples before sizes are evened out: all samples are used."""
        firsts = np.arange(self.group, clients, self.group)
        shuffled = rng.permutation(len(labels))
        # Deviation: FedDF's code rounds every group's share down and gives the rest to the last,
        # a sample or two; it also wants ten clients or more.
        shares = np.split(shuffled, firsts * len(labels) // clients)
        sizes = np.diff(firsts, prepend=0, append=clients)
        return [
            share[part]
            for share, size in zip(shares, sizes, strict=True)
            for part in self._divide(labels[share], int(size), rng)
        ]

    def _divide(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator
    ) -> list[Indices]:
        groups, sizes = by_class(labels, rng)
        draw = partial(capped, self.alpha, sizes, clients, rng)
        least, remedy = len(labels) // (2 * clients), f", a smaller `group` or {EQUAL_SIZES}"
        return deal(groups, redraw(draw, least, self, ATTEMPTS, remedy))[0]
