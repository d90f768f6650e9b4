"""Local training: a client's steps, one after the other."""

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.optimisers import clip_by_norm
from fedbench.core.part import Part, overriding, same_shape
from fedbench.core.rng import GeneratorStates
from fedbench.core.round import Batch, Gradient, Seen, Turn
from fedbench.core.stacked import StackedNet
from fedbench.engine.batches import Feed
from fedbench.engine.local import (
    ClientBatches,
    ClientResult,
    Differentiate,
    LocalTask,
    Outputs,
    RoundStart,
    by_autograd,
)


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
    w = begun(task, start, turns)
    for i in overriding(task.parts, "begin_buffers"):
        buffers = task.parts[i].begin_buffers(buffers, turns[i])
    steps: StepsInPlace | _StepsOnVector = (
        StepsInPlace(task, start.lr, task.net, w.clone(), buffers)
        if task.is_plain and differentiate is by_autograd
        else _StepsOnVector(task, start, turns, w, buffers, differentiate)
    )
    total, feed = w.new_zeros(()), Feed(task.inputs, batches.rows, batches.views)
    for k in range(len(batches.rows)):
        for t in turns:
            t.k = k
        total = total + steps.make(k, feed.batch())
    return finished(task, start, turns, steps.w, steps.buffers, total / len(batches.rows))


def begun(task: LocalTask, start: RoundStart, turns: Sequence[Turn]) -> Tensor:
    """The weights that the parts let a client start from."""
    w = start.global_model.w
    for part, t in zip(task.parts, turns, strict=True):
        w = same_shape(part, "begin", part.begin(w, t), w)
    return w


def finished(
    task: LocalTask,
    start: RoundStart,
    turns: Sequence[Turn],
    w: Tensor,
    buffers: Buffers,
    loss: Tensor,
) -> ClientResult:
    """Let the parts end their turns at the trained weights; returns what the client hands back."""
    changed: Tensor | None = None
    for i in overriding(task.parts, "end"):
        part, t = task.parts[i], turns[i]
        t.k, t.y = t.H, Model(w, buffers)
        delta = start.global_model.w - w if changed is None else changed
        changed = same_shape(part, "end", part.end(delta, t), delta)
    upload, state = [t.upload for t in turns], [t.state for t in turns]
    return ClientResult(
        w=w, changed=changed, upload=upload, state=state, buffers=buffers, loss=loss
    )


class StepsInPlace:
    """Steps that nothing but the optimiser acts on: layer by layer, in place, as torch.optim's.

    `w` is changed.
    """

    def __init__(
        self, task: LocalTask, lr: float, net: Net | StackedNet, w: Tensor, buffers: Buffers
    ) -> None:
        self._task, self._lr, self._net = task, lr, net
        self.w, self.buffers = w, {name: value.clone() for name, value in buffers.items()}
        self._layers = net.place(self.w, self.buffers)
        self._memory = [task.optimiser.start(layer) for layer in self._layers]

    def make(self, k: int, samples: tuple[Tensor, ...]) -> Tensor:
        """Make step k on a batch; returns the loss before it."""
        with torch.enable_grad():
            losses, shares = self.losses(samples)
        gradients = torch.autograd.grad(losses, self._layers, shares, materialize_grads=True)
        act, steps = self._task.optimiser.step, []
        for i, g in enumerate(gradients):
            step, self._memory[i] = act(g, self._layers[i], self._memory[i], k)
            steps.append(step)
        torch._foreach_add_(self._layers, steps, alpha=-self._lr)
        return self.mean(losses.detach(), shares)

    def losses(self, samples: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Each sample's loss in a batch, inputs and labels, and its share in the mean."""
        x, y = samples
        losses = self._task.loss(self._net.train_placed(x), y)
        return losses, torch.full_like(losses, 1 / len(losses))

    def mean(self, losses: Tensor, shares: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return losses.mean()


class _StepsOnVector:
    """Steps that parts read or change; each makes a new vector of weights, which they may keep."""

    def __init__(
        self,
        task: LocalTask,
        start: RoundStart,
        turns: Sequence[Turn],
        w: Tensor,
        buffers: Buffers,
        differentiate: Differentiate,
    ) -> None:
        self._task, self._start, self._turns = task, start, turns
        self._differentiate = differentiate
        self.w, self.buffers = w, buffers
        self._memory = task.optimiser.start(w)

    def make(self, k: int, samples: tuple[Tensor, Tensor]) -> Tensor:
        """Make step k on a batch; returns the loss before it, without the parts' terms."""
        task, turns, w = self._task, self._turns, self.w
        model = self._start.global_model
        loss = _StepLoss(task, model, turns, samples, self.buffers, self._differentiate)
        g = clip_by_norm(loss.gradient(w), task.clip)
        for i in overriding(task.parts, "decay"):
            g = same_shape(task.parts[i], "decay", task.parts[i].decay(g, w, turns[i]), w)
        step, self._memory = task.optimiser.step(g, task.decayed(w), self._memory, k)
        for i in overriding(task.parts, "move"):
            step = same_shape(task.parts[i], "move", task.parts[i].move(step, w, turns[i]), w)
        loss.show(w)
        self.w = torch.add(w, step, alpha=-self._start.lr)  # rounded once, as in torch.optim
        self.buffers = loss.first.buffers
        return loss.first.loss


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
        self.noise: GeneratorStates | None = None

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
        again = self.task.net.has_dropout and overriding(self.task.parts, "grad")
        with self._same_noise(w.device) if again else contextlib.nullcontext():
            g, outputs = self.differentiate(self.objective, w)
        self._first = self._first or outputs
        return g

    @contextlib.contextmanager
    def _same_noise(self, device: torch.device) -> Iterator[None]:
        """A context that draws what the first of its step drew, and moves no later draw."""
        now = GeneratorStates.now(device, self.task.users.acts)
        if self.noise is None:
            self.noise = now
            yield
        else:
            self.noise.restore(device)
            yield
            now.restore(device)

    def objective(self, w: Tensor) -> tuple[Tensor, Outputs]:
        """(loss with all parts' terms, outputs); the outputs hold the loss without them."""
        parts, turns = self.task.parts, self.turns
        buffers = {name: value.clone() for name, value in self.buffers.items()}
        z, features = self.task.net.train(w, buffers, self.x)
        for i in overriding(parts, "logits"):
            given = self.batch(z, features, w)
            z = same_shape(parts[i], "logits", parts[i].logits(z, given, turns[i]), z)
        b = self.batch(z, features, w)
        plain = value = self.task.loss(z, self.y).mean()
        for i in overriding(parts, "loss"):
            value = same_shape(parts[i], "loss", parts[i].loss(value, b, turns[i]), value)
        buffers = {name: v.detach() for name, v in buffers.items()}
        return value, Outputs(plain.detach(), z.detach(), features.detach(), buffers)

    def batch(self, z: Tensor, features: Tensor, w: Tensor) -> Batch:
        """The batch as the parts see it."""
        return Batch(
            x=self.x, y=self.y, logits=z, features=features, w=w, net=self.task.net,
            global_model=self.global_model, criterion=self.task.loss, seen=self.seen,
        )  # fmt: skip

    def show(self, w: Tensor) -> None:
        """Call the parts' `after` with the batch, detached."""
        for i in overriding(self.task.parts, "after"):
            b = self.batch(self.first.logits, self.first.features, w)
            self.task.parts[i].after(b, self.turns[i])


def _wrap(part: Part, inner: Gradient, t: Turn) -> Gradient:
    return lambda w: same_shape(part, "grad", part.grad(inner, w, t), w)
