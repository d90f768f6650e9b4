"""One client's local training as a function of what it starts from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core import chance
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.optimisers import Memory, Optimiser, clip_by_norm
from fedbench.core.part import Part, alike, overriding
from fedbench.core.round import Batch, Gradient, Seen, State, Turn
from fedbench.engine import inputs
from fedbench.engine.feed import Feed
from fedbench.engine.threads import Threads

Loss = Callable[
    [Tensor, Tensor], Tensor
]  # (logits (B, C), labels (B,)) -> one value per sample (B,)


class Outputs(NamedTuple):
    """One forward pass, without gradients; the loss (scalar) has none of the parts' terms."""

    loss: Tensor
    logits: Tensor
    features: Tensor
    buffers: Buffers


Differentiate = Callable[
    [Callable[[Tensor], tuple[Tensor, Outputs]], Tensor], tuple[Tensor, Outputs]
]


@dataclass(frozen=True, kw_only=True)
class LocalTask:
    """What local training needs and what stays the same in all rounds.

    x, y: all training samples, as stored; `prepare` turns stored samples into the network's input;
    `decays` (d,) is 0 where weight decay does not act and 1 elsewhere, None if it acts everywhere;
    `crop` is the padding of augmented images, in pixels; `threads` share training and evaluation.
    """

    net: Net
    parts: tuple[Part, ...]
    loss: Loss
    optimiser: Optimiser
    clip: float | None
    x: Tensor
    y: Tensor
    prepare: Callable[[Tensor], Tensor]
    decays: Tensor | None = None
    crop: int = 0
    threads: Threads = field(default_factory=Threads)

    def decayed(self, w: Tensor) -> Tensor:
        """The weights that weight decay pulls towards 0; 0 in place of those it spares."""
        return w if self.decays is None else w * self.decays

    def inputs(self, rows: Tensor, view: Tensor | None) -> tuple[Tensor, Tensor]:
        """The network's inputs and the labels of these samples, cropped and flipped by `view`."""
        x = self.x[rows]
        if view is not None:
            x = inputs.augmented(x, view, self.crop)
        return self.prepare(x), self.y[rows]

    def outputs(self, model: Model, x: Tensor, piece: int = 500) -> tuple[Tensor, Tensor]:
        """(logits, features) of stored samples x (N, …) in evaluation mode, `piece` at a time."""

        def evaluate(part: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():  # of this thread
                return self.net.eval(model, self.prepare(part))

        logits, features = zip(*self.threads.map(evaluate, torch.split(x, piece)), strict=True)
        return torch.cat(logits), torch.cat(features)


@dataclass(frozen=True)
class RoundStart:
    """What all clients of a round start from: the global model x_t and the learning rate η_t."""

    global_model: Model
    lr: float


@dataclass(frozen=True, kw_only=True)
class ClientBatches:
    """What one client trains on in one round.

    rows[k]: indices of the samples of batch k, one batch per local step; views[k]: how each of its
    images is cropped and flipped, None without augmentation.
    """

    rows: list[Tensor]
    views: list[Tensor] | None = None


@dataclass(frozen=True, kw_only=True)
class ClientResult:
    """What one client's local training returns.

    w, buffers: the trained model y_i; delta: the update that is uploaded, (d,); up: what each part
    uploads beside it; mine: what each part stores at the client; loss: the mean over its steps of a
    mini-batch's loss before the step, without the parts' terms.
    """

    w: Tensor
    delta: Tensor
    up: list[State]
    mine: list[State]
    buffers: Buffers
    loss: Tensor


def by_autograd(
    objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
) -> tuple[Tensor, Outputs]:
    """The objective's gradient at w."""
    w = w.detach().requires_grad_()
    with torch.enable_grad():
        value, outputs = objective(w)
    return torch.autograd.grad(value, w)[0], outputs


def local_round(
    task: LocalTask,
    start: RoundStart,
    turns: Sequence[Turn],
    batches: ClientBatches,
    buffers: Buffers,
    differentiate: Differentiate = by_autograd,
) -> ClientResult:
    """Train one client; `turns` holds one turn per part, `buffers` the client's norm buffers.

    Order inside a step (convention 4): loss terms, gradient, gradient terms, clip, `decay` and
    weight decay, momentum buffer, `move`, step. The turns are written to.
    """
    w = start.global_model.w
    for part, t in zip(task.parts, turns, strict=True):
        w = alike(part, "begin", part.begin(w, t), w)
    memory, total = task.optimiser.start(w), w.new_zeros(())
    feed = Feed(task.inputs, batches.rows, batches.views)
    for k in range(len(batches.rows)):
        for t in turns:
            t.k = k
        state = (w, memory, buffers)
        step, memory, outputs = _step(task, start, turns, feed.batch(), k, state, differentiate)
        w = torch.add(w, step, alpha=-start.lr)  # rounded once, as in torch.optim
        buffers, total = outputs.buffers, total + outputs.loss
    return _finish(task, start, turns, w, buffers, total / len(batches.rows))


def _step(
    task: LocalTask,
    start: RoundStart,
    turns: Sequence[Turn],
    samples: tuple[Tensor, Tensor],
    k: int,
    state: tuple[Tensor, Memory, Buffers],
    differentiate: Differentiate,
) -> tuple[Tensor, Memory, Outputs]:
    """Step k from `state`: what is subtracted, the optimiser's memory, the first evaluation."""
    w, memory, buffers = state
    loss = _StepLoss(task, start.global_model, turns, samples, buffers, differentiate)
    g = clip_by_norm(loss.gradient(w), task.clip)
    for i in overriding(task.parts, "decay"):
        g = alike(task.parts[i], "decay", task.parts[i].decay(g, w, turns[i]), w)
    step, memory = task.optimiser.step(g, task.decayed(w), memory, k)
    for i in overriding(task.parts, "move"):
        step = alike(task.parts[i], "move", task.parts[i].move(step, w, turns[i]), w)
    loss.show(w)
    return step, memory, loss.first


def _finish(
    task: LocalTask,
    start: RoundStart,
    turns: Sequence[Turn],
    w: Tensor,
    buffers: Buffers,
    loss: Tensor,
) -> ClientResult:
    """Let the parts end their turns at the trained weights; returns what the client hands back."""
    delta = start.global_model.w - w
    for part, t in zip(task.parts, turns, strict=True):
        t.k, t.y = t.H, Model(w, buffers)
        delta = alike(part, "end", part.end(delta, t), delta)
    up, mine = [t.up for t in turns], [t.mine for t in turns]
    return ClientResult(w=w, delta=delta, up=up, mine=mine, buffers=buffers, loss=loss)


class _StepLoss:
    """The loss of a step's batch at any weights, and the outputs of the step's first evaluation.

    Only the first evaluation moves running statistics (SAM's second evaluation must not).
    """

    def __init__(
        self,
        task: LocalTask,
        global_model: Model,
        turns: Sequence[Turn],
        samples: tuple[Tensor, Tensor],
        buffers: Buffers,
        differentiate: Differentiate,
    ) -> None:
        self.x, self.y = samples
        self.task, self.global_model, self.turns = task, global_model, turns
        self.buffers, self.differentiate = buffers, differentiate
        self._first: Outputs | None = None
        self.seen: Seen = {}
        self.noise: Tensor | None = None

    @property
    def first(self) -> Outputs:
        """The outputs of the step's first evaluation."""
        if self._first is None:
            raise FedbenchError(
                "the hook `grad` of a part made a step without calling `inner`, which gives the "
                "gradient of the loss"
            )
        return self._first

    def gradient(self, w: Tensor) -> Tensor:
        """The gradient after every part's `grad`; the first part is given the plain gradient."""
        gradient: Gradient = self.inner
        for i in overriding(self.task.parts, "grad"):
            gradient = _wrap(self.task.parts[i], gradient, self.turns[i])
        return gradient(w)

    def inner(self, w: Tensor) -> Tensor:
        """Gradient of the batch's loss and loss terms; dropout is the same in every call."""
        if self.task.net.has_dropout:
            self.noise = chance.replay(self.noise, w.device)
        g, outputs = self.differentiate(self.objective, w)
        self._first = self._first or outputs
        return g

    def objective(self, w: Tensor) -> tuple[Tensor, Outputs]:
        """(loss with all parts' terms, outputs); the outputs hold the loss without them."""
        parts, turns = self.task.parts, self.turns
        buffers = {name: value.clone() for name, value in self.buffers.items()}
        z, features = self.task.net.train(w, buffers, self.x)
        for i in overriding(parts, "logits"):
            given = self.batch(z, features, w)
            z = alike(parts[i], "logits", parts[i].logits(z, given, turns[i]), z)
        b = self.batch(z, features, w)
        plain = value = self.task.loss(z, self.y).mean()
        for i in overriding(parts, "loss"):
            value = alike(parts[i], "loss", parts[i].loss(value, b, turns[i]), value)
        buffers = {name: v.detach() for name, v in buffers.items()}
        return value, Outputs(plain.detach(), z.detach(), features.detach(), buffers)

    def batch(self, z: Tensor, features: Tensor, w: Tensor) -> Batch:
        """The batch as the parts see it."""
        return Batch(
            x=self.x, y=self.y, logits=z, features=features, w=w, net=self.task.net,
            global_model=self.global_model, seen=self.seen,
        )  # fmt: skip

    def show(self, w: Tensor) -> None:
        """Call the parts' `after` with the batch, detached."""
        for i in overriding(self.task.parts, "after"):
            b = self.batch(self.first.logits, self.first.features, w)
            self.task.parts[i].after(b, self.turns[i])


def _wrap(part: Part, inner: Gradient, t: Turn) -> Gradient:
    return lambda w: alike(part, "grad", part.grad(inner, w, t), w)
