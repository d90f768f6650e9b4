"""One client's local training, a pure function: the engine loops it or maps it over clients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from fedbench.core import chance
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.optimisers import Memory, Optimiser, clip_by_norm
from fedbench.core.part import Part, overriding
from fedbench.core.round import Batch, Gradient, Seen, State, Turn
from fedbench.engine import inputs

Loss = Callable[[Tensor, Tensor], Tensor]  # (logits (B, C), labels (B,)) -> one value a sample (B,)
Outputs = dict[str, Any]  # loss, logits, features and buffers of one forward pass, detached
Differentiate = Callable[
    [Callable[[Tensor], tuple[Tensor, Outputs]], Tensor], tuple[Tensor, Outputs]
]


@dataclass(frozen=True)
class Task:
    """What local training needs and no round changes.

    `prepare` turns stored rows into the network's input; `decays` (d,) is 0 where weight decay does
    not act and 1 elsewhere, None if it acts everywhere; `crop` is the padding of augmented images.
    """

    net: Net
    parts: tuple[Part, ...]
    loss: Loss
    optimiser: Optimiser
    weight_decay: float
    clip: float | None
    x: Tensor
    y: Tensor
    prepare: Callable[[Tensor], Tensor]
    decays: Tensor | None = None
    crop: int = 0
    channels_last: bool = False

    def decayed(self, w: Tensor) -> Tensor:
        """The weights that weight decay pulls towards 0; 0 for those it leaves alone."""
        return w if self.decays is None else w * self.decays


@dataclass(frozen=True)
class Start:
    """Where a round begins: the global model and the learning rate η_t."""

    world: Model
    lr: float


@dataclass(frozen=True)
class Feed:
    """What one client trains on: `rows[k]` are the indices of batch k; masks mark padded rows.

    `views[k]` say how each of its images is cropped and flipped, if they are.

    Mapped over clients every tensor has one more leading dimension; `H` is then a tensor and a
    client that has made its H steps stands still.
    """

    rows: list[Tensor]
    masks: list[Tensor] | None
    H: Tensor | int
    n: Tensor
    labels: Tensor
    drawn: list[State]
    views: list[Tensor] | None = None


@dataclass(frozen=True)
class Reply:
    """What local training returns: model y_i, upload, extras and state per part, mean loss."""

    w: Tensor
    delta: Tensor
    up: list[State]
    mine: list[State]
    buffers: Buffers
    loss: Tensor


for _cls in (Feed, Reply):
    torch.utils._pytree.register_dataclass(_cls)


def by_autograd(
    objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
) -> tuple[Tensor, Outputs]:
    """Gradient for the loop over clients: the cheapest on one thread."""
    w = w.detach().requires_grad_()
    with torch.enable_grad():
        value, outputs = objective(w)
    return torch.autograd.grad(value, w)[0], outputs


def by_func(
    objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
) -> tuple[Tensor, Outputs]:
    """Gradient that can be mapped over clients."""
    gradient, outputs = torch.func.grad(objective, has_aux=True)(w)
    return gradient, outputs


def local_round(
    task: Task,
    start: Start,
    turns: Sequence[Turn],
    feed: Feed,
    buffers: Buffers,
    differentiate: Differentiate = by_autograd,
) -> Reply:
    """Train one client: one turn a part holds messages and kept state, `buffers` are its own.

    Order inside a step (convention 4): loss terms, gradient, gradient terms, clip, `decay` and
    weight decay, momentum buffer, `move`, step.
    """
    w = start.world.w
    for part, t in zip(task.parts, turns, strict=True):
        w = part.begin(w, t)
    memory, total = task.optimiser.start(w), w.new_zeros(())
    for k in range(len(feed.rows)):
        for t in turns:
            t.k = k
        old = (w, memory, buffers, _kept(turns))
        step, memory, outputs = _step(task, start, turns, feed, k, old[:3], differentiate)
        w = torch.add(w, step, alpha=-start.lr)  # rounds once, as torch.optim does
        buffers, value = outputs["buffers"], outputs["loss"]
        if feed.masks:
            active = k < feed.H
            w, memory, buffers, kept = _choose(active, (w, memory, buffers, _kept(turns)), old)
            value = _choose(active, value, torch.zeros_like(value))
            _restore(turns, kept)
        total = total + value
    return _finish(task, start, turns, w, buffers, total / feed.H)


def _step(
    task: Task,
    start: Start,
    turns: Sequence[Turn],
    feed: Feed,
    k: int,
    state: tuple[Tensor, Memory, Buffers],
    differentiate: Differentiate,
) -> tuple[Tensor, Memory, Outputs]:
    w, memory, buffers = state
    batch = _Pass(task, start.world, turns, feed, k, buffers, differentiate)
    g = clip_by_norm(batch.nested()(w), task.clip)
    for i in overriding(task.parts, "decay"):
        g = task.parts[i].decay(g, w, turns[i])
    step, memory = task.optimiser.step(g, task.decayed(w), memory, k)
    for i in overriding(task.parts, "move"):
        step = task.parts[i].move(step, w, turns[i])
    batch.show(w)
    return step, memory, batch.first


def _finish(
    task: Task, start: Start, turns: Sequence[Turn], w: Tensor, buffers: Buffers, loss: Tensor
) -> Reply:
    delta = start.world.w - w
    for part, t in zip(task.parts, turns, strict=True):
        t.k, t.y = t.H, Model(w, buffers)  # padding is no step
        delta = part.end(delta, t)
    return Reply(w, delta, [t.up for t in turns], [t.mine for t in turns], buffers, loss)


class _Pass:
    """The loss of one batch at any weights; remembers what the first evaluation gave.

    Only the first evaluation moves running statistics (SAM's second must not).
    """

    def __init__(
        self,
        task: Task,
        world: Model,
        turns: Sequence[Turn],
        feed: Feed,
        k: int,
        buffers: Buffers,
        differentiate: Differentiate,
    ) -> None:
        rows = feed.rows[k]
        x = task.x[rows]
        if feed.views:
            x = inputs.seen(x, feed.views[k], task.crop)
        self.x, self.y = task.prepare(x), task.y[rows]
        self.mask = feed.masks[k] if feed.masks else None
        self.task, self.world, self.turns = task, world, turns
        self.buffers, self.differentiate = buffers, differentiate
        self.first: Outputs = {}
        self.seen: Seen = {}
        self.noise: Tensor | None = None

    def nested(self) -> Gradient:
        """The gradient with every part's `grad` around it, the first part nearest."""
        gradient: Gradient = self.inner
        for i in overriding(self.task.parts, "grad"):
            gradient = _wrap(self.task.parts[i], gradient, self.turns[i])
        return gradient

    def inner(self, w: Tensor) -> Tensor:
        """Gradient of the batch's loss, loss terms included; each call drops the same units."""
        if self.task.net.has_dropout:
            self.noise = chance.replay(self.noise, w.device)
        g, outputs = self.differentiate(self.objective, w)
        self.first = self.first or outputs
        return g

    def objective(self, w: Tensor) -> tuple[Tensor, Outputs]:
        """(loss with all parts' terms, the plain loss and the other outputs)."""
        parts, turns = self.task.parts, self.turns
        buffers = {name: value.clone() for name, value in self.buffers.items()}
        z, features = self.task.net.train(w, buffers, self.x)
        for i in overriding(parts, "logits"):
            z = parts[i].logits(z, self.batch(z, features, w), turns[i])
        b = self.batch(z, features, w)
        plain = value = b.mean(self.task.loss(z, self.y))
        for i in overriding(parts, "loss"):
            value = parts[i].loss(value, b, turns[i])
        outputs = {"loss": plain, "logits": z, "features": features, "buffers": buffers}
        return value, tree_map(torch.Tensor.detach, outputs)

    def batch(self, z: Tensor, features: Tensor, w: Tensor) -> Batch:
        """The batch as the parts see it."""
        net, world = self.task.net, self.world
        return Batch(self.x, self.y, z, features, w, net, world, self.mask, self.seen)

    def show(self, w: Tensor) -> None:
        """Let the parts see the batch, detached."""
        for i in overriding(self.task.parts, "after"):
            b = self.batch(self.first["logits"], self.first["features"], w)
            self.task.parts[i].after(b, self.turns[i])


def _wrap(part: Part, inner: Gradient, t: Turn) -> Gradient:
    return lambda w: part.grad(inner, w, t)


def own_states(t: Turn) -> dict[str, State]:
    """What a part may write during a turn, as new dictionaries."""
    return {"mine": dict(t.mine), "up": dict(t.up), "run": dict(t.run)}


def _kept(turns: Sequence[Turn]) -> list[dict[str, State]]:
    return [own_states(t) for t in turns]


def _restore(turns: Sequence[Turn], kept: list[dict[str, State]]) -> None:
    for t, state in zip(turns, kept, strict=True):
        t.mine, t.up, t.run = state["mine"], state["up"], state["run"]


def _choose(active: Any, new: Any, old: Any) -> Any:
    """`new` where the client is still active, else `old`; entries born in this step are kept."""
    if isinstance(new, dict):
        return {k: _choose(active, v, old[k]) if k in old else v for k, v in new.items()}
    if isinstance(new, (list, tuple)):
        return type(new)(_choose(active, n, o) for n, o in zip(new, old, strict=True))
    return torch.where(active, new, old)
