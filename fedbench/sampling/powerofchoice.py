"""Power of choice: of some candidates those with the largest losses train."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler, cohort_size


@dataclass(frozen=True)
class PowerOfChoice(Sampler):
    """d candidates by their numbers of samples; the m of them with the largest last losses train.

    Cho, Wang, Joshi, "Towards Understanding Biased Client Selection in Federated Learning", AISTATS
    2022: the variant rpow-d, in which a client's loss is the mean over the steps of its last turn
    (one more number uploaded), so that candidates need no exchange before the round; a client that
    has not trained yet counts as infinite. Candidates are drawn without replacement by n_k/n; ties
    are broken at random.
    """

    d: Count = 10  # candidates, from the size of a cohort to the number of clients

    def require(self, K: int, participation: float) -> None:
        """Refuse fewer candidates than a cohort has clients, and more than there are."""
        m = cohort_size(K, participation)
        if not m <= self.d <= K:
            raise FedbenchError(
                f"sampler 'powerofchoice': d = {self.d} is not allowed; it must be {m}…{K}, from "
                "the size of a cohort to the number of clients"
            )

    def __call__(
        self,
        rng: np.random.Generator,
        K: int,
        participation: float,
        labels: NDArray[np.int64],
        *,
        losses: NDArray[np.float64],
    ) -> list[int]:
        """The m candidates with the largest losses."""
        m, n = cohort_size(K, participation), labels.sum(axis=1)
        candidates = rng.choice(K, size=self.d, replace=False, p=n / n.sum())
        known = np.nan_to_num(losses[candidates], nan=np.inf)
        return [int(i) for i in candidates[np.argsort(-known, kind="stable")[:m]]]
