"""What stays the same in all rounds of a run: data, clients, network, parts, scorers, cost."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fedbench.base import seeds
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.core.part import Sizes
from fedbench.core.rng import seeded
from fedbench.core.round import Federation
from fedbench.data.dataset import Dataset
from fedbench.data.splits import Unused
from fedbench.engine.identity import Identity
from fedbench.engine.local import LocalTask
from fedbench.sampling.sampler import Sampler
from fedbench.spec import RunSpec
from fedbench.work.local_work import Work

_FORWARD, _BACKWARD = 1 / 3, 2 / 3  # of a sample pass; a backward pass takes twice a forward one


def cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy −log softmax(z)_y of logits z (B, C), one value per sample (B,)."""
    return F.cross_entropy(z, y, reduction="none")


def half_squared_error(z: Tensor, y: Tensor) -> Tensor:
    """½ (z − y)² (B,), the loss for labels without classes; its gradient is z − y."""
    return 0.5 * (z.squeeze(-1) - y) ** 2


@dataclass(frozen=True)
class Scorer:
    """Computes the mean loss of models on samples x, y, and with classes accuracy and macro-F1."""

    task: LocalTask
    x: Tensor
    y: Tensor
    classes: int

    def __call__(self, model: Model) -> dict[str, float]:
        """The scores {'loss': …, 'accuracy': …, 'macro_f1': …}; without classes the loss only."""
        logits = self.logits(model)
        scores = {"loss": self.loss(logits)}
        if self.classes:
            scores |= classification(predictions(logits), self.y, self.classes)
        return dict(zip(scores, torch.stack(list(scores.values())).tolist(), strict=True))

    def logits(self, model: Model) -> Tensor:
        """The logits of all samples (N, C)."""
        return self.task.outputs(model, self.x)[0]

    def loss(self, logits: Tensor) -> Tensor:
        """The mean loss (scalar) of these logits of all samples, in double precision."""
        return self.task.loss(logits, self.y).double().mean()


def predictions(logits: Tensor) -> Tensor:
    """The class that each sample's logits (N, C) name; C, which is none, if they are not finite."""
    return torch.where(logits.isfinite().all(1), logits.argmax(1), logits.shape[1])


def classification(predicted: Tensor, y: Tensor, classes: int) -> dict[str, Tensor]:
    """Accuracy, and the unweighted mean over classes of F1 = 2·hits/(predicted + true), as scalars.

    As in scikit-learn, a class that is neither predicted nor present is left out.
    """
    hits = torch.bincount(y[predicted == y], minlength=classes).double()
    named = torch.bincount(predicted, minlength=classes)[:classes]
    total = torch.bincount(y, minlength=classes) + named
    f1 = 2 * hits / total.clamp(min=1)
    return {"accuracy": hits.sum() / len(y), "macro_f1": f1.sum() / (total > 0).sum()}


class OwnTest(NamedTuple):
    """A scorer on the test samples as clients see them, of which client i has the rows rows[i]."""

    scorer: Scorer
    rows: list[Tensor]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that a run needs and that stays the same in all rounds."""

    spec: RunSpec
    identity: Identity  # if a search chose settings: of those before it
    data: Dataset
    fed: Federation
    task: LocalTask
    rows: list[Tensor]  # of each client's training samples
    own_test: OwnTest | None  # None where clients have no test data of their own
    label_counts: NDArray[np.int64]  # (K, C), as `fed` has them on the device
    unused: Unused
    sampler: Sampler
    work: Work
    scorers: dict[str, Scorer]  # by prefix of their columns: '' test set, 'val_' held-out data

    @property
    def largest_batch(self) -> int:
        """The largest number of samples in a client's local step."""
        longest = max(len(rows) for rows in self.rows)
        return min(self.spec.batch or longest, longest)

    @property
    def device(self) -> torch.device:
        """The device that holds the data."""
        return self.task.x.device

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
        scorer = self._held_out()
        return scorer.loss(scorer.logits(model))

    def proxy(self) -> Tensor:
        """The held-out samples as inputs (N, …) of the network, without their labels."""
        return self.task.prepare(self._held_out().x)

    def _held_out(self) -> Scorer:
        if "val_" not in self.scorers:
            raise FedbenchError(
                "validation = 0: a part of the method needs held-out data; set validation above 0"
            )
        return self.scorers["val_"]

    def work_per_sample(self) -> float:
        """1 for FedAvg, 2 for FedSAM, which passes samples twice, and for a teacher 1/3 more."""
        spec, fed, epochs = self.spec, self.fed, self.work.mean(self.spec.most)
        if spec.steps:  # on average over the clients
            epochs /= float((fed.n / self.largest_batch).clamp(min=1).mean())
        sizes = Sizes(fed.d, fed.classes, fed.K, fed.m, epochs, fed.net.features)
        costs = [part.cost(sizes) for part in self.task.parts]
        forward = sum(cost.forward for cost in costs)
        return 1 + _FORWARD * forward + _BACKWARD * sum(cost.backward for cost in costs)
