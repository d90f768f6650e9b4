"""Samplers: the rules that draw the clients of a round."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Checked, Count, Share
from fedbench.base.errors import FedbenchError

Rng = np.random.Generator
Labels = NDArray[np.int64]

_BERNOULLI_DRAWS = 100_000  # of a cohort, before giving up
_COVERAGE_DRAWS = 1000


class Sampler(Checked, ABC):
    """A rule that draws the cohort of a round."""

    replacement: ClassVar[bool] = False  # it may draw a client twice, who then counts twice

    @abstractmethod
    def __call__(
        self, rng: Rng, K: int, participation: float, labels: Labels, *args: Any, **asked: Any
    ) -> list[int]:
        """Draw client numbers, in any order, of K clients with participation C.

        `labels` are the label counts of all clients, (K, classes). A rule may also take, by their
        names, the round `t` from 0, `always`, a generator that draws the same numbers in every
        round, and `losses` (K,), each client's mean training loss in its last turn, NaN before it.
        It keeps no values from call to call, which a resumed run would not have, but uses these.
        """

    def require(self, K: int, participation: float) -> None:
        """Raise `FedbenchError`, before any training, if the rule does not fit these numbers."""


def cohort_size(K: int, participation: float) -> int:
    """The number of clients per round, m = max(1, round(C·K))."""
    return max(1, round(participation * K))


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
                f"of {m}; use at most {K // m}"
            )

    def __call__(
        self, rng: Rng, K: int, participation: float, labels: Labels, *, t: int = 0, always: Rng
    ) -> list[int]:
        """M clients of the group whose turn it is."""
        m = cohort_size(K, participation)
        available = np.array_split(always.permutation(K), self.groups)[t % self.groups]
        return [int(i) for i in rng.choice(available, size=m, replace=False)]


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
        self, rng: Rng, K: int, participation: float, labels: Labels, *, t: int = 0, always: Rng
    ) -> list[int]:
        """M of the clients that are available, or all of them."""
        on = always.random(K) < self.join / (self.join + self.leave)
        for u in always.random((t, K)):  # the same numbers in every round
            on = np.where(on, u >= self.leave, u < self.join)
        available = np.flatnonzero(on) if on.any() else rng.choice(K, size=1)
        m = min(cohort_size(K, participation), len(available))
        return [int(i) for i in rng.choice(available, size=m, replace=False)]


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
            raise FedbenchError(f"sampler 'powerofchoice': d = {self.d} must be {m}…{K}")

    def __call__(
        self, rng: Rng, K: int, participation: float, labels: Labels, *, losses: NDArray[np.float64]
    ) -> list[int]:
        """The m candidates with the largest losses."""
        m, n = cohort_size(K, participation), labels.sum(axis=1)
        candidates = rng.choice(K, size=self.d, replace=False, p=n / n.sum())
        known = np.nan_to_num(losses[candidates], nan=np.inf)
        return [int(i) for i in candidates[np.argsort(-known, kind="stable")[:m]]]


@dataclass(frozen=True)
class Proportional(Sampler):
    """m draws with replacement, client k with probability n_k/n; a client drawn twice counts twice.

    Li et al., "On the Convergence of FedAvg on Non-IID Data", ICLR 2020, scheme I, and FedProx
    (MLSys 2020). With `weights: uniform`, to which it belongs, the mean of the cohort's models is
    that of FedAvg with all clients in expectation. A client trains once, however often it is drawn.
    """

    replacement = True

    def __call__(self, rng: Rng, K: int, participation: float, labels: Labels) -> list[int]:
        """The clients that were drawn, as often as they were."""
        n = labels.sum(axis=1)
        return [int(i) for i in rng.choice(K, size=cohort_size(K, participation), p=n / n.sum())]


@dataclass(frozen=True)
class Uniform(Sampler):
    """m = max(1, round(C·K)) clients without replacement; each set of m is equally likely."""

    def __call__(self, rng: Rng, K: int, participation: float, labels: Labels) -> list[int]:
        """Draw the m clients, ascending."""
        return sorted(rng.choice(K, cohort_size(K, participation), replace=False).tolist())


@dataclass(frozen=True)
class Bernoulli(Sampler):
    """Each client takes part with probability C, independently; an empty cohort is drawn again."""

    def __call__(self, rng: Rng, K: int, participation: float, labels: Labels) -> list[int]:
        """The clients that take part, ascending; about C·K of them on average."""
        for _ in range(_BERNOULLI_DRAWS):
            chosen = np.flatnonzero(rng.random(K) < participation)
            if len(chosen):
                return [int(i) for i in chosen]
        raise FedbenchError(
            f"sampler 'bernoulli': participation = {participation} of {K} clients gave no client "
            f"in {_BERNOULLI_DRAWS:,} draws; raise it"
        )


@dataclass(frozen=True)
class Coverage(Sampler):
    """m clients drawn uniformly from those sets of m that together hold samples of every class.

    FedADC paper, section IV-E. Sets are drawn uniformly until one covers all classes. After 1000
    failures a cover is built greedily, with ties broken at random, and filled up with random
    clients, which is no longer uniform.
    """

    def __call__(self, rng: Rng, K: int, participation: float, labels: Labels) -> list[int]:
        """The cohort, ascending; it is that of `uniform` if the first set covers all classes."""
        m, holds = cohort_size(K, participation), labels > 0
        absent = np.flatnonzero(~holds.any(axis=0))
        if len(absent):
            raise FedbenchError(f"sampler 'coverage': no client has a sample of class {absent[0]}")
        most, classes = int(np.sort(holds.sum(axis=1))[-m:].sum()), holds.shape[1]
        if most < classes:
            raise FedbenchError(
                f"sampler 'coverage': the m = {m} clients with the most classes hold {most} at "
                f"most of {classes}; raise participation"
            )
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
        said = f"no {m} of {K} clients that hold all classes were found; raise participation"
        raise FedbenchError(f"sampler 'coverage': {said}")


def _greedy_cover(rng: Rng, holds: NDArray[np.bool_]) -> list[int]:
    """Clients that together hold all classes; each adds the most classes to those before it."""
    order = rng.permutation(len(holds))
    missing = np.ones(holds.shape[1], dtype=bool)
    cover: list[int] = []
    while missing.any():
        gains = holds[order][:, missing].sum(axis=1)
        cover.append(int(order[gains.argmax()]))
        missing &= ~holds[cover[-1]]
    return cover
