"""IID: all clients draw from the same distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.data.partition import Indices, Partition, by_class, deal


@dataclass(frozen=True)
class IID(Partition):
    """Shuffle the samples and cut them into equal parts; at most clients−1 samples are not used.

    `stratified` gives every client ⌊n_c/clients⌋ samples of each class c, as the code of FedDyn
    (Acar et al., ICLR 2021) does for CIFAR-100; the rest of a class is not used.
    """

    by_labels = True

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
                f"{self}: the largest class has {sizes.max()} samples, fewer than the "
                f"{clients} clients; use fewer clients or stratified=False"
            )
        return deal(groups, np.tile(share, (clients, 1)))[0]
