"""Bernoulli sampling: each client takes part with a fixed probability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler

_TRIES = 100_000  # draws of a cohort before giving up


@dataclass(frozen=True)
class Bernoulli(Sampler):
    """Each client takes part with probability C, independently; an empty cohort is drawn again."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The clients that take part, ascending; about C·K of them on average."""
        for _ in range(_TRIES):
            chosen = np.flatnonzero(rng.random(K) < participation)
            if len(chosen):
                return [int(i) for i in chosen]
        raise FedbenchError(
            f"sampler 'bernoulli': participation = {participation} of {K} clients gave no client "
            f"in {_TRIES:,} draws; raise participation"
        )
