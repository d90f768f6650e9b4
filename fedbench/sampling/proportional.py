"""Proportional: clients are drawn by their numbers of samples."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.sampling.sampler import Sampler, cohort_size


@dataclass(frozen=True)
class Proportional(Sampler):
    """m draws with replacement, client k with probability n_k/n; a client drawn twice counts twice.

    Li et al., "On the Convergence of FedAvg on Non-IID Data", ICLR 2020, scheme I, and FedProx
    (MLSys 2020). With `weights: uniform`, to which it belongs, the mean of the cohort's models is
    that of FedAvg with all clients in expectation. A client trains once, however often it is drawn.
    """

    replacement: ClassVar[bool] = True

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The clients that were drawn, as often as they were."""
        n = labels.sum(axis=1)
        return [int(i) for i in rng.choice(K, size=cohort_size(K, participation), p=n / n.sum())]
