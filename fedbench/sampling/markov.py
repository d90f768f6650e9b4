"""Markov: clients become available and unavailable by a chain of their own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Share
from fedbench.sampling.sampler import Sampler, cohort_size


@dataclass(frozen=True)
class Markov(Sampler):
    """Clients are available by a two-state Markov chain each; at most m of them are drawn.

    From round to round an available client leaves with probability `leave`, another returns with
    probability `join`; at first each is available with the chain's limit join/(join + leave).
    Ribero et al., "Federated Learning Under Intermittent Client Availability and Time-Varying
    Communication Constraints", IEEE JSTSP 2023; Rodio et al., "Federated Learning under
    Heterogeneous and Correlated Client Availability", INFOCOM 2023. Where fewer than m are
    available, all of them train; where none is, one client that was drawn at random.
    """

    leave: Share = 0.2
    join: Share = 0.2

    def __call__(
        self,
        rng: np.random.Generator,
        K: int,
        participation: float,
        labels: NDArray[np.int64],
        *,
        t: int = 0,
        always: np.random.Generator,
    ) -> list[int]:
        """M of the clients that are available, or all of them."""
        on = always.random(K) < self.join / (self.join + self.leave)
        for u in always.random((t, K)):  # the same numbers in every round
            on = np.where(on, u >= self.leave, u < self.join)
        available = np.flatnonzero(on) if on.any() else rng.choice(K, size=1)
        m = min(cohort_size(K, participation), len(available))
        return [int(i) for i in rng.choice(available, size=m, replace=False)]
