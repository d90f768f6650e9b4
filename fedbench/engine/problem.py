"""What stays the same in all rounds of a run, and what local training starts from and returns."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Buffers, Model, Net
from fedbench.core.local_optimisers import Optimiser
from fedbench.core.part import Part, Sizes, overriding
from fedbench.core.rng import seeded, seeded_for
from fedbench.core.round_data import Federation, Loss, State, Turn
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Unused
from fedbench.engine import preprocessing
from fedbench.engine.given_objects import Identity
from fedbench.engine.machine import in_threads
from fedbench.sampling.sampler import Sampler
from fedbench.spec import RunSpec
from fedbench.work.local_epochs import Work

_OF_STEPS = ("logits", "loss", "grad", "decay", "move", "after")  # hooks
_FORWARD, _BACKWARD = 1 / 3, 2 / 3  # of a sample pass; a backward pass takes twice a forward one


cross_entropy = partial(F.cross_entropy, reduction="none")  # one value per sample (B,)


def half_squared_error(z: Tensor, y: Tensor) -> Tensor:
    """½ (z − y)² (B,), the loss for labels without classes; its gradient is z − y."""
    return 0.5 * (z.squeeze(-1) - y) ** 2


LOSSES: tuple[Loss, Loss] = (half_squared_error, cross_entropy)  # without and with classes


def same_shape(part: Part, hook: str, value: Tensor, given: Tensor) -> Tensor:
    """What a hook returned; refuses another shape: one number would be added to every weight."""
    found = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
    if isinstance(value, Tensor) and given.requires_grad and not value.requires_grad:
        raise FedbenchError(
            f"{type(part).__name__}.{hook} returned a tensor without a gradient; leave out what "
            "removes it, such as .detach(), .item() or argmax"
        )
    if isinstance(value, Tensor) and value.shape == given.shape:
        if value.dtype == given.dtype or hook == "loss":
            return value
        found = str(value.dtype)
    raise FedbenchError(
        f"{type(part).__name__}.{hook} returned {found}; it must return a tensor of shape "
        f"{tuple(given.shape)} and {given.dtype}, as it was given"
    )


@dataclass
class UsersCode:
    """Whether users' own code acts in a run; and, from when it does, draws in clients' turns."""

    acts: bool = False
    draws: bool = False


@dataclass(frozen=True)
class PreparedClient:
    """One client, ready to train, with a turn per part."""

    client: int
    start: Model  # the global model x_t
    lr: float  # η_t
    turns: list[Turn]
    rows: list[Tensor]  # the samples of each local step's batch
    views: list[Tensor] | None  # how each of them is cropped and flipped; None: not at all
    noise: int  # the seed of its dropout


@dataclass(frozen=True)
class ClientResult:
    """What one client's local training returns; its model y_i is (w, buffers)."""

    w: Tensor
    changed: Tensor | None  # the update (d,) that is uploaded; None: x_t − y_i, without any `end`
    upload: list[State]  # by part, beside the update
    state: list[State]  # by part, stored at the client
    buffers: Buffers
    loss: Tensor  # the mean over its steps of a batch's loss before the step, without parts' terms

    def delta(self, x: Tensor) -> Tensor:
        """The update (d,) that is uploaded, where x (d,) is the global model of the round."""
        return x - self.w if self.changed is None else self.changed


@dataclass(frozen=True, kw_only=True)
class LocalTask:
    """What local training needs and what stays the same in all rounds."""

    net: Net
    parts: tuple[Part, ...]
    loss: Loss
    optimiser: Optimiser
    clip: float | None
    x: Tensor  # all training samples, as stored
    y: Tensor
    prepare: Callable[[Tensor], Tensor]  # turns stored samples into the network's input
    decays: Tensor | None  # (d,), 0 where weight decay does not act; None: it acts everywhere
    crop: int  # the padding of augmented images, in pixels
    threads: int  # that share training and evaluation
    users: UsersCode

    @property
    def draws(self) -> bool:
        """Whether a client's turn draws from generators that all threads share."""
        return self.net.has_dropout or self.users.draws

    def dropout(self, c: PreparedClient) -> AbstractContextManager[None]:
        """A context in which dropout, and users' code that draws, draw from the client's seed."""
        return seeded(c.noise, self.x.device, self.users.acts) if self.draws else nullcontext()

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the optimiser acts on steps, and it acts on all weights alike."""
        seen = any(overriding(self.parts, hook) for hook in _OF_STEPS)
        return not seen and self.clip is None and self.decays is None

    def through(self, hook: str, value: Tensor, own: Sequence[Any], *beside: Any) -> Tensor:
        """The value after this hook of each part; `own`: each part's turn or round, given last."""
        for i in overriding(self.parts, hook):
            changed = getattr(self.parts[i], hook)(value, *beside, own[i])
            value = same_shape(self.parts[i], hook, changed, value)
        return value

    def inputs(self, rows: Tensor, view: Tensor | None) -> tuple[Tensor, Tensor]:
        """The network's inputs and the labels of these samples, cropped and flipped by `view`."""
        x = self.x.index_select(0, rows)  # a tenth of the time of x[rows], which reads each image
        if view is not None:
            x = preprocessing.augmented(x, view, self.crop)
        return self.prepare(x), self.y.index_select(0, rows)

    def outputs(self, model: Model, x: Tensor, piece: int = 500) -> tuple[Tensor, Tensor]:
        """(logits, features) of stored samples x (N, …) in evaluation mode, `piece` at a time."""

        def evaluate(part: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():  # of this thread
                return self.net.eval(model, self.prepare(part))

        pieces = in_threads(self.threads, evaluate, torch.split(x, piece))
        logits, features = zip(*pieces, strict=True)
        return torch.cat(logits), torch.cat(features)


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
        return seeded_for(self.spec.seed, f"users' {purpose}", t, self.device)

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
        return float(1 + _FORWARD * forward + _BACKWARD * sum(cost.backward for cost in costs))
