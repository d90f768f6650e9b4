"""Base of client samplers."""

import numpy as np
from numpy.typing import NDArray

from fedbench.checked import Checked


class Sampler(Checked):
    """Chooses a round's cohort."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """Ascending client numbers; K clients, C = participation, label counts (K, classes)."""
        raise NotImplementedError


def cohort_size(K: int, participation: float) -> int:
    """M = max(1, round(C·K))."""
    return max(1, round(participation * K))
