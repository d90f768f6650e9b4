"""Client sampling in which the cohort holds every class together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.sampling.sampler import Sampler, cohort_size

_TRIES = 1000


@dataclass(frozen=True)
class Coverage(Sampler):
    """A uniform m-subset, given that its clients hold samples of all classes together.

    FedADC paper, section IV-E. Drawn by rejection; after 1000 failures by greedy set cover, ties
    broken at random, and a random fill, which is no longer uniform.
    """

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The cohort, ascending; what uniform sampling gives if its first draw covers."""
        m, knows = cohort_size(K, participation), labels > 0
        _refuse_impossible(m, knows)
        for _ in range(_TRIES):
            chosen = rng.choice(K, size=m, replace=False)
            if knows[chosen].any(axis=0).all():
                return sorted(int(i) for i in chosen)
        for _ in range(_TRIES):
            cover = _greedy_cover(rng, knows)
            if len(cover) <= m:
                rest = np.setdiff1d(np.arange(K), cover)
                fill = rng.choice(rest, size=m - len(cover), replace=False)
                return sorted(int(i) for i in [*cover, *fill])
        raise FedbenchError(
            f"sampler 'coverage': found no {m} of {K} clients that know all classes"
        )


def _greedy_cover(rng: np.random.Generator, knows: NDArray[np.bool_]) -> list[int]:
    """Clients that know all classes, each the one who adds most to those before."""
    order = rng.permutation(len(knows))
    missing = np.ones(knows.shape[1], dtype=bool)
    cover: list[int] = []
    while missing.any():
        gains = knows[order][:, missing].sum(axis=1)
        cover.append(int(order[gains.argmax()]))
        missing &= ~knows[cover[-1]]
    return cover


def _refuse_impossible(m: int, knows: NDArray[np.bool_]) -> None:
    absent = np.flatnonzero(~knows.any(axis=0))
    if len(absent):
        raise FedbenchError(
            f"sampler 'coverage': no client has a sample of class {absent[0]}, "
            "so no cohort can cover all classes"
        )
    most, classes = int(np.sort(knows.sum(axis=1))[-m:].sum()), knows.shape[1]
    if most < classes:
        raise FedbenchError(
            f"sampler 'coverage': the m = {m} clients with the most classes know {most} at most, "
            f"fewer than all {classes}; raise participation"
        )
