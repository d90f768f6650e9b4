"""Cyclic: groups of clients take part in turn."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler, cohort_size


@dataclass(frozen=True)
class Cyclic(Sampler):
    """The clients are in fixed random groups, of which one is available per round, in turn.

    Cho et al., "On the Convergence of Federated Averaging with Cyclic Client Participation", ICML
    2023: from the available group m clients are drawn without replacement.
    """

    groups: Count = 4  # at most K/m, so that each has a whole cohort

    def require(self, K: int, participation: float) -> None:
        """Refuse groups that are smaller than a cohort."""
        m = cohort_size(K, participation)
        if self.groups * m > K:
            raise FedbenchError(
                f"sampler 'cyclic': {self.groups} groups of {K} clients are smaller than a cohort "
                f"of {m}; use at most {K // m} or a smaller participation"
            )

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
        """M clients of the group whose turn it is."""
        m = cohort_size(K, participation)
        available = np.array_split(always.permutation(K), self.groups)[t % self.groups]
        return [int(i) for i in rng.choice(available, size=m, replace=False)]
