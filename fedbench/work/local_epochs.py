"""Local work: how many epochs, or steps, each client of a cohort makes in a round."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Checked, Count, Fraction
from fedbench.base.errors import FedbenchError

Rng = np.random.Generator


class Shares(NamedTuple):
    """What the clients of a cohort do in a round."""

    amounts: NDArray[np.int64]
    """Local epochs, or steps where the run counts these (m,); at least 1."""
    sent: NDArray[np.bool_]
    """Whether the client's result reaches the server in time (m,)."""


class Work(Checked, ABC):
    """A rule that says how much each client of a cohort trains; a file in `fedbench/work`."""

    @abstractmethod
    def __call__(
        self, clients: Sequence[int], most: int, rng: Rng, *args: Any, **asked: Any
    ) -> Shares | NDArray[np.int64]:
        """What these clients (m,) do; an array of amounts alone means that all results are sent.

        `most` is the run's `epochs`, or `steps` where these are given. A rule may also take, by
        their names, the round `t` from 0, `K`, and `always`, a generator that draws the same
        numbers in every round. It keeps no values from call to call, which a resumed run would not
        have, but uses these.
        """

    def require(self, most: int) -> None:
        """Raise `FedbenchError`, before any training, if the rule does not fit this number."""

    def mean(self, most: int) -> float:
        """The amount that a client makes on average, from which costs are estimated."""
        return most


@dataclass(frozen=True)
class Constant(Work):
    """Every client makes all epochs or steps."""

    def __call__(self, clients: Sequence[int], most: int, rng: Rng) -> NDArray[np.int64]:
        """`most` for all."""
        return np.full(len(clients), most)


@dataclass(frozen=True)
class Uniform(Work):
    """Each client makes E_i ~ U{least, …, E} epochs, or as many steps, drawn anew in each round.

    Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated
    Optimization" (FedNova), NeurIPS 2020, section 6: E_i(t) ~ U(2, 5). With `fixed` a client's
    number is drawn once for all rounds.
    """

    least: Count = 1  # at most the run's epochs or steps
    fixed: bool = False

    def __call__(
        self, clients: Sequence[int], most: int, rng: Rng, K: int = 0, always: Rng | None = None
    ) -> NDArray[np.int64]:
        """The numbers of these clients."""
        if self.fixed and always:
            every: NDArray[np.int64] = always.integers(self.least, most + 1, size=K)
            return np.take(every, clients)
        return rng.integers(self.least, most + 1, size=len(clients))

    def require(self, most: int) -> None:
        """Refuse a `least` above the run's epochs or steps."""
        if self.least > most:
            raise FedbenchError(f"work 'uniform': least = {self.least} must be at most {most}")

    def mean(self, most: int) -> float:
        """The middle of the interval."""
        return (self.least + most) / 2


@dataclass(frozen=True)
class Stragglers(Work):
    """A share of each cohort makes only x ~ U{1, …, E} epochs, or steps, as time has run out.

    Li et al., "Federated Optimization in Heterogeneous Networks" (FedProx), MLSys 2020, section
    5.2: 0, 50 or 90 % of the clients. FedAvg drops their results (`drop`), FedProx keeps them; at
    least one client is always in time. A dropped client was sent the model and has trained: both
    are counted. It uploads nothing, and the others' mixing weights sum to 1.
    """

    share: Fraction = 0.9
    drop: bool = False

    def __call__(self, clients: Sequence[int], most: int, rng: Rng) -> Shares:
        """Stragglers are drawn at random; with `drop` the same ones with the same work."""
        m = len(clients)
        late = np.zeros(m, dtype=bool)
        late[rng.permutation(m)[max(1, round(m * (1 - self.share))) :]] = True
        partial = rng.integers(1, most + 1, size=m)
        return Shares(np.where(late, partial, most), ~late if self.drop else np.ones(m, dtype=bool))

    def mean(self, most: int) -> float:
        """That of stragglers and others together."""
        return (1 - self.share) * most + self.share * (1 + most) / 2
