"""Bernoulli client sampling."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler

_TRIES = 100_000  # an empty cohort is drawn again, but not for ever


@dataclass(frozen=True)
class Bernoulli(Sampler):
    """Each client takes part with probability C on its own; an empty cohort is drawn again."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The clients whose coin fell, ascending; C·K on average."""
        for _ in range(_TRIES):
            chosen = np.flatnonzero(rng.random(K) < participation)
            if len(chosen):
                return [int(i) for i in chosen]
        raise FedbenchError(
            f"sampler 'bernoulli': C = {participation} of K = {K} clients stays empty"
        )
