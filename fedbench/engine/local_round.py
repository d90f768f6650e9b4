"""Local training: a client's steps, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Buffers, Model, Net
from fedbench.core.local_optimisers import clip_by_norm
from fedbench.core.part import Part, overriding, returned
from fedbench.core.rng import GeneratorStates
from fedbench.core.round_data import Batch, Gradient, Seen, Turn
from fedbench.core.stacked_network import StackedNet
from fedbench.engine.problem import ClientResult, LocalTask, PreparedClient, same_shape

_SAMPLES = 2048  # made at once on a GPU; 25 MB of CIFAR-10


class Outputs(NamedTuple):
    """One forward pass, without gradients."""

    loss: Tensor  # without the parts' terms
    logits: Tensor
    features: Tensor
    buffers: Buffers


Objective = Callable[[Tensor], tuple[Tensor, Outputs]]
Autograd = Callable[[Objective, Tensor], tuple[Tensor, Outputs]]  # an objective's gradient at w


def by_autograd(
    objective: Objective, w: Tensor, grad: Callable[..., tuple[Tensor, ...]] = torch.autograd.grad
) -> tuple[Tensor, Outputs]:
    """The objective's gradient at w."""
    w = w.detach().requires_grad_()
    with torch.enable_grad():
        value, outputs = objective(w)
    return grad(value, w)[0], outputs


def local_round(
    task: LocalTask, client: PreparedClient, differentiate: Autograd = by_autograd
) -> ClientResult:
    """Train one client in the calling thread; its turns are written to."""
    turns = client.turns
    with torch.no_grad(), task.dropout(client):
        w, buffers = begun(task, client)
        steps: StepsInPlace | _StepsOnVector = (
            StepsInPlace(task, client.lr, task.net, w.clone(), buffers)
            if task.is_plain and differentiate is by_autograd
            else _StepsOnVector(task, client, differentiate, w, buffers)
        )
        total, samples = w.new_zeros(()), feed(task.inputs, client.rows, client.views)
        for k in range(len(client.rows)):
            for t in turns:
                t.k = k
            total = total + steps.make(k, next(samples))
        trained = Model(steps.w, steps.buffers)
        return finished(task, client, trained, total / len(client.rows))


def begun(task: LocalTask, client: PreparedClient) -> Model:
    """Where the client starts: at the global model, or where the parts begin."""
    w, buffers = task.through("begin", client.start.w, client.turns), client.start.buffers
    for i in overriding(task.parts, "begin_buffers"):
        buffers = returned(task.parts[i], "begin_buffers", buffers, client.turns[i])
    return Model(w, buffers)


def feed(
    make: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]],
    rows: Sequence[Tensor],
    views: Sequence[Tensor] | None,
    together: int | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs (B, …) and labels (B,) of each batch, in order, made of samples and their views.

    `together` are made at once: on a CPU one, which is used while it is in the cache, and on a GPU
    many, since it takes as long to start an operation on one. The bits are the same.
    """
    if together is None:
        together = max(1, _SAMPLES // len(rows[0])) if rows and rows[0].is_cuda else 1
    for first in range(0, len(rows), together):
        some = rows[first : first + together]
        seen = views[first : first + together] if views else None
        if len(some) == 1:
            yield make(some[0], seen[0] if seen else None)
        else:
            x, y = make(torch.cat(list(some)), torch.cat(list(seen)) if seen else None)
            sizes = [len(batch) for batch in some]
            yield from zip(torch.split(x, sizes), torch.split(y, sizes), strict=True)


def finished(task: LocalTask, client: PreparedClient, y: Model, loss: Tensor) -> ClientResult:
    """Let the parts end their turns at the trained model; returns what the client hands back."""
    turns, changed = client.turns, None
    if ending := overriding(task.parts, "end"):
        for i in ending:
            turns[i].k, turns[i].y = turns[i].H, y
        changed = task.through("end", client.start.w - y.w, turns)
    upload, state = [t.upload for t in turns], [t.state for t in turns]
    return ClientResult(y.w, changed, upload, state, y.buffers, loss)


class StepsInPlace:
    """Steps that only the optimiser acts on: layer by layer, in w's memory, as torch.optim's."""

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
        return self.mean(losses, shares)

    def losses(self, samples: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Each sample's loss in a batch, inputs and labels, and its share in the mean."""
        x, y = samples
        losses = self._task.loss(self._net.train_placed(x), y)
        return losses, torch.full_like(losses, 1 / len(losses))

    def mean(self, losses: Tensor, shares: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return losses.mean()


@dataclass
class _StepsOnVector:
    """Steps that parts read or change; each makes a new vector of weights, which they may keep.

    Only the first evaluation in a step moves running statistics (SAM's second must not).
    """

    task: LocalTask
    client: PreparedClient
    differentiate: Autograd
    w: Tensor
    buffers: Buffers

    def __post_init__(self) -> None:
        self._memory = self.task.optimiser.start(self.w)

    def make(self, k: int, samples: tuple[Tensor, Tensor]) -> Tensor:
        """Make step k on a batch; returns the loss before it, without the parts' terms.

        Loss terms, gradient, gradient terms, clip, `decay`, weight decay, momentum buffer, `move`,
        step: the order of convention 4.
        """
        self._samples, self._seen = samples, Seen()
        self._first: list[Outputs] = []  # of the step's first evaluation
        self._noise: GeneratorStates | None = None  # from which its dropout draws
        task, parts, turns, w = self.task, self.task.parts, self.client.turns, self.w
        gradient: Gradient = self._inner
        for i in overriding(parts, "grad"):
            gradient = _wrap(parts[i], gradient, turns[i])
        g = clip_by_norm(gradient(w), task.clip)
        if not self._first:
            raise FedbenchError("a part's `grad` made a step without `inner`, the loss's gradient")
        first = self._first.pop()
        g = task.through("decay", g, turns, w)
        decayed = w if task.decays is None else w * task.decays
        step, self._memory = task.optimiser.step(g, decayed, self._memory, k)
        step = task.through("move", step, turns, w)
        for i in overriding(parts, "after"):
            parts[i].after(self._batch(first.logits, first.features, w), turns[i])
        del self._samples, self._seen  # before memory is taken for the next
        self.w = torch.add(w, step, alpha=-self.client.lr)  # rounded once, as in torch.optim
        self.buffers = first.buffers
        return first.loss

    def _inner(self, w: Tensor) -> Tensor:
        """Gradient of the batch's loss and loss terms; dropout is the same in every call."""
        again = self.task.net.has_dropout and overriding(self.task.parts, "grad")
        now = GeneratorStates.now(w.device, self.task.users.acts) if again else None
        if self._noise:  # what the first call of the step drew is drawn again
            self._noise.restore(w.device)
        g, outputs = self.differentiate(self._objective, w)
        if self._noise and now:  # no later draw is moved
            now.restore(w.device)
        self._noise = self._noise or now
        self._first = self._first or [outputs]
        return g

    def _objective(self, w: Tensor) -> tuple[Tensor, Outputs]:
        """(loss with all parts' terms, outputs); the outputs hold the loss without them."""
        task, parts, turns = self.task, self.task.parts, self.client.turns
        x, y = self._samples
        buffers = {name: value.clone() for name, value in self.buffers.items()}
        z, features = task.net.train(w, buffers, x)
        for i in overriding(parts, "logits"):
            given = self._batch(z, features, w)
            z = same_shape(parts[i], "logits", parts[i].logits(z, given, turns[i]), z)
        b = self._batch(z, features, w)
        plain = task.loss(z, y).mean()
        value = task.through("loss", plain, turns, b)
        buffers = {name: v.detach() for name, v in buffers.items()}
        return value, Outputs(plain.detach(), z.detach(), features.detach(), buffers)

    def _batch(self, z: Tensor, features: Tensor, w: Tensor) -> Batch:
        x, y = self._samples
        return Batch(
            x=x, y=y, logits=z, features=features, w=w, net=self.task.net, seen=self._seen,
            global_model=self.client.start, criterion=self.task.loss,
        )  # fmt: skip


def _wrap(part: Part, inner: Gradient, t: Turn) -> Gradient:
    return lambda w: same_shape(part, "grad", part.grad(inner, w, t), w)
