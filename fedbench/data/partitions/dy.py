"""DY: each class is divided over the clients by Dirichlet proportions; all samples are used."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
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

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class DY(Partition):
    """Divide each class over all clients, in one of two flavours that authors' codes have.

    'yurochkin' (Yurochkin et al., ICML 2019): the proportions of each class are Dir(α·1_K), a
    client that holds n/K samples gets no more, and everything is drawn again until the smallest
    client has `least` samples. Clients' sizes differ widely.

    'fedadc' (FedADC's author): the class shares of each client are Dir(α·1_C); each class is
    divided in proportion to them, rounded down, and what is left of all classes goes in equal
    chunks to the smaller half of the clients. Clients' sizes are near n/K; each client has at least
    `least` samples.
    """

    by_labels = True

    alpha: Concentration = 0.5  # the smaller, the more skewed
    flavour: Literal["yurochkin", "fedadc"] = "yurochkin"
    least: Count | None = None  # samples of the smallest client; null: 10, or 1 for 'fedadc'

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)
        usual, draw = (10, capped) if self.flavour == "yurochkin" else (1, _fedadc)
        least = self.least or usual
        if least * clients > sizes.sum():
            raise FedbenchError(
                f"{self}: {clients} clients need {least} samples each, but there are only "
                f"{sizes.sum()}; use at most {sizes.sum() // least} clients or a smaller `least`"
            )
        counts = redraw(
            partial(draw, self.alpha, sizes, clients, rng),
            least,
            self,
            remedy=f", a smaller `least` or {EQUAL_SIZES}",
        )
        return deal(groups, counts)[0]


def _fedadc(alpha: float, sizes: Indices, clients: int, rng: np.random.Generator) -> Counts:
    p = rng.dirichlet(np.full(len(sizes), alpha), size=clients)
    if (p.sum(axis=0) == 0).any():  # no client asked for a class: it has no proportions
        return np.zeros_like(p, dtype=np.int64)
    counts: Counts = np.floor(p / p.sum(axis=0) * sizes).astype(np.int64)
    rest = sizes - counts.sum(axis=0)
    smaller = np.argsort(counts.sum(axis=1), kind="stable")[: (clients + 1) // 2]
    chunks = np.diff(np.arange(len(smaller) + 1) * rest.sum() // len(smaller))
    for k, size in zip(smaller, chunks, strict=True):
        chunk = rng.multivariate_hypergeometric(rest, size)  # a cut of the shuffled pool
        counts[k] += chunk
        rest -= chunk
    return counts
