"""Uniform sampling: each set of m clients is equally likely."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.sampling.sampler import Sampler, cohort_size


@dataclass(frozen=True)
class Uniform(Sampler):
    """m = max(1, round(C·K)) clients without replacement; each set of m is equally likely."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """Draw the m clients, ascending."""
        chosen = rng.choice(K, size=cohort_size(K, participation), replace=False)
        return sorted(int(i) for i in chosen)
