"""Samplers, which draw the clients of a round."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError

_BERNOULLI_DRAWS = 100_000  # of a cohort, before giving up
_COVERAGE_DRAWS = 1000


class Sampler(Checked, ABC):
    """A rule that draws the cohort of a round."""

    replacement: ClassVar[bool] = False  # it may draw a client twice, who then counts twice

    @abstractmethod
    def __call__(
        self,
        rng: np.random.Generator,
        K: int,
        participation: float,
        labels: NDArray[np.int64],
        *args: Any,
        **asked: Any,
    ) -> list[int]:
        """Draw client numbers, in any order, of K clients with participation C.

        `labels` are the label counts of all clients, (K, classes). A rule may also take, by their
        names, the round `t` from 0, `always`, a generator that draws the same numbers in every
        round, and `losses` (K,), each client's mean training loss in its last turn, NaN before it.
        """

    def require(self, K: int, participation: float) -> None:
        """Raise `FedbenchError`, before any training, if the rule does not fit these numbers."""


def cohort_size(K: int, participation: float) -> int:
    """The number of clients per round, m = max(1, round(C·K))."""
    return max(1, round(participation * K))


@dataclass(frozen=True)
class Uniform(Sampler):
    """m = max(1, round(C·K)) clients without replacement; each set of m is equally likely."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """Draw the m clients, ascending."""
        chosen = rng.choice(K, size=cohort_size(K, participation), replace=False)
        return sorted(int(i) for i in chosen)


@dataclass(frozen=True)
class Bernoulli(Sampler):
    """Each client takes part with probability C, independently; an empty cohort is drawn again."""

    def __call__(
        self, rng: np.random.Generator, K: int, participation: float, labels: NDArray[np.int64]
    ) -> list[int]:
        """The clients that take part, ascending; about C·K of them on average."""
        for _ in range(_BERNOULLI_DRAWS):
            chosen = np.flatnonzero(rng.random(K) < participation)
            if len(chosen):
                return [int(i) for i in chosen]
        raise FedbenchError(
            f"sampler 'bernoulli': participation = {participation} of {K} clients gave no client "
            f"in {_BERNOULLI_DRAWS:,} draws; raise participation"
        )


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
        for _ in range(_COVERAGE_DRAWS):
            chosen = rng.choice(K, size=m, replace=False)
            if holds[chosen].any(axis=0).all():
                return sorted(int(i) for i in chosen)
        for _ in range(_COVERAGE_DRAWS):
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
