"""Shards: the samples sorted by class are cut into equal shards, and each client gets a few."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.partition import Indices, Partition, by_class


@dataclass(frozen=True)
class Shards(Partition):
    """Sort by class, cut into clients·each shards of equal size, and deal each client `each`.

    The non-IID MNIST of McMahan et al. (AISTATS 2017, Section 3): 200 shards of 300 digits, two for
    each of 100 clients, most of whom then hold two digits; a shard at the border of two classes has
    both, and a client may hold two shards of one class. At most clients·each−1 samples are unused.
    """

    by_labels = True

    each: Count = 2  # shards of a client

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Deal the shards at random; which samples of a class lie in which shard is random, too."""
        ordered = np.concatenate(by_class(labels, rng)[0])
        size, shards = len(labels) // (clients * self.each), clients * self.each
        if not size:
            raise FedbenchError(
                f"{self}: {clients} clients × {self.each} shards are more than the {len(labels)} "
                "samples; use fewer clients or a smaller `each`"
            )
        dealt = ordered[: size * shards].reshape(shards, size)[rng.permutation(shards)]
        return list(dealt.reshape(clients, self.each * size))
