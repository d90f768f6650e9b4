"""Base of client samplers."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checked import Checked


class Sampler(Checked, ABC):
    """Chooses a round's cohort."""

    @abstractmethod
    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """Ascending client numbers; K clients, C = participation, label counts (K, classes)."""


def cohort_size(K: int, participation: float) -> int:
    """The number m = max(1, round(C·K)) of clients a round."""
    return max(1, round(participation * K))
