"""What stays the same in all rounds of a run: data, clients, network, parts, scorers, cost."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import names_of
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.core.part import Sizes
from fedbench.core.rng import seeded
from fedbench.core.round import Federation
from fedbench.data.dataset import Dataset
from fedbench.data.shares import Unused
from fedbench.engine.identity import Identity
from fedbench.engine.local import LocalTask
from fedbench.engine.scoring import Scorer
from fedbench.sampling.sampler import Sampler
from fedbench.spec import RunSpec
from fedbench.work.work import Work

_FORWARD, _BACKWARD = 1 / 3, 2 / 3  # of a sample pass; a backward pass takes twice a forward one


class OwnTest(NamedTuple):
    """A scorer on the test samples as clients see them, of which client i has the rows rows[i]."""

    scorer: Scorer
    rows: list[Tensor]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that a run needs and that stays the same in all rounds.

    rows[i]: the rows of client i's training samples; own_test: None where clients have no test data
    of their own; label_counts: (K, C), beside those of `fed`,
    for who does not compute on the device; scorers: by the prefix of the columns that they write,
    '' for the test set and 'val_' for held-out data.
    """

    spec: RunSpec
    identity: Identity  # if a search chose settings: of those before it
    data: Dataset
    fed: Federation
    task: LocalTask
    rows: list[Tensor]
    own_test: OwnTest | None
    label_counts: NDArray[np.int64]
    unused: Unused
    sampler: Sampler
    work: Work
    scorers: dict[str, Scorer]

    @property
    def largest_batch(self) -> int:
        """The largest number of samples in a client's local step."""
        longest = max(len(rows) for rows in self.rows)
        return min(self.spec.batch or longest, longest)

    @property
    def device(self) -> torch.device:
        """The device that holds the data."""
        return self.task.x.device

    @property
    def asks_losses(self) -> bool:
        """Whether the sampler looks at clients' training losses, which they upload then."""
        return "losses" in names_of(self.sampler)

    def for_users(self, purpose: str, t: int) -> AbstractContextManager[None]:
        """A context for users' code outside clients' turns, in which its draws have a seed."""
        if not self.task.users.acts:
            return nullcontext()
        number = seeds.number(self.spec.seed, t, seeds.EVERYONE, f"users' {purpose}")
        return seeded(number, self.device, users=True)

    @property
    def unused_words(self) -> str:
        """A sentence on the training samples that no client holds, if they are many; else ''."""
        given = self.identity.objects.get("partition")
        rule = "that was given" if given else str(self.spec.partition)
        return self.unused.words(self.data.name, rule, self.spec.clients)

    def validate(self, model: Model) -> Tensor:
        """A model's mean loss on the held-out data (scalar)."""
        return self._held_out().loss(model)

    def proxy(self) -> Tensor:
        """The held-out samples as inputs (N, …) of the network, without their labels."""
        return self.task.prepare(self._held_out().x)

    def _held_out(self) -> Scorer:
        if "val_" not in self.scorers:
            raise FedbenchError(
                "validation = 0: a part of the method needs held-out data; set validation above 0"
            )
        return self.scorers["val_"]


def require_score(problem: Problem) -> None:
    """Raise `FedbenchError` if the run will not have the score that its rule looks at."""
    stop = problem.spec.stop
    if stop and stop.metric != "loss" and not problem.fed.classes:
        raise FedbenchError(
            f"stop.metric = '{stop.metric}' needs classes, but data set '{problem.data.name}' has "
            "numbers for labels; write metric: loss"
        )


def work_per_sample(problem: Problem) -> float:
    """1 for FedAvg; more with the forward and backward passes that the method's parts declare.

    FedSAM, which passes every sample twice each way, costs 2, and one teacher 1/3 more.
    """
    fed = problem.fed
    sizes = Sizes(
        d=fed.d,
        classes=fed.classes,
        K=fed.K,
        m=fed.m,
        epochs=_epochs(problem),
        features=fed.net.features,
    )
    costs = [part.cost(sizes) for part in problem.task.parts]
    forward, backward = sum(cost.forward for cost in costs), sum(cost.backward for cost in costs)
    return 1 + _FORWARD * forward + _BACKWARD * backward


def _epochs(problem: Problem) -> float:
    """Local epochs, on average over the clients where these differ."""
    spec = problem.spec
    if spec.local_epochs:
        return problem.work.mean(spec.local_epochs)
    steps_of_an_epoch = float((problem.fed.n / problem.largest_batch).clamp(min=1).mean())
    return problem.work.mean(spec.steps or 1) / steps_of_an_epoch
