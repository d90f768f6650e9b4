"""The base of samplers, which draw the clients of a round."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Checked


class Sampler(Checked, ABC):
    """A rule that draws the cohort of a round."""

    @abstractmethod
    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """Draw client numbers, ascending, of K clients with participation C.

        `labels` are the label counts of all clients, (K, classes).
        """


def cohort_size(K: int, participation: float) -> int:
    """The number of clients per round, m = max(1, round(C·K))."""
    return max(1, round(participation * K))
