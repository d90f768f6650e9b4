"""Coverage sampling: the clients of a cohort together hold samples of every class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler, cohort_size

_TRIES = 1000


@dataclass(frozen=True)
class Coverage(Sampler):
    """m clients drawn uniformly from those sets of m that together hold samples of every class.

    FedADC paper, section IV-E. Sets are drawn uniformly until one covers all classes. After 1000
    failures a cover is built greedily, with ties broken at random, and filled up with random
    clients, which is no longer uniform.
    """

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The cohort, ascending; it is that of `uniform` if the first set covers all classes."""
        m, holds = cohort_size(K, participation), labels > 0
        _refuse_impossible(m, holds)
        for _ in range(_TRIES):
            chosen = rng.choice(K, size=m, replace=False)
            if holds[chosen].any(axis=0).all():
                return sorted(int(i) for i in chosen)
        for _ in range(_TRIES):
            cover = _greedy_cover(rng, holds)
            if len(cover) <= m:
                rest = np.setdiff1d(np.arange(K), cover)
                fill = rng.choice(rest, size=m - len(cover), replace=False)
                return sorted(int(i) for i in [*cover, *fill])
        raise FedbenchError(
            f"sampler 'coverage': no {m} of {K} clients that hold all classes were found; raise "
            "participation"
        )


def _greedy_cover(rng: np.random.Generator, holds: NDArray[np.bool_]) -> list[int]:
    """Clients that together hold all classes; each adds the most classes to those before it."""
    order = rng.permutation(len(holds))
    missing = np.ones(holds.shape[1], dtype=bool)
    cover: list[int] = []
    while missing.any():
        gains = holds[order][:, missing].sum(axis=1)
        cover.append(int(order[gains.argmax()]))
        missing &= ~holds[cover[-1]]
    return cover


def _refuse_impossible(m: int, holds: NDArray[np.bool_]) -> None:
    absent = np.flatnonzero(~holds.any(axis=0))
    if len(absent):
        raise FedbenchError(
            f"sampler 'coverage': no client has a sample of class {absent[0]}, "
            "so no cohort can cover all classes"
        )
    most, classes = int(np.sort(holds.sum(axis=1))[-m:].sum()), holds.shape[1]
    if most < classes:
        raise FedbenchError(
            f"sampler 'coverage': the m = {m} clients with the most classes hold {most} at most, "
            f"fewer than all {classes}; raise participation"
        )
