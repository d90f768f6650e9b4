"""Optimisers on flat vectors: each turns a gradient into a step, to be multiplied by lr.

They compute what PyTorch's compute, SGD bit for bit, as `torch.add(a, b, alpha=c)` rounds once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.base.checks import BelowOne, Checked, Fraction, NonNegative, Positive
from fedbench.base.errors import FedbenchError

Memory = dict[str, Tensor]


@dataclass(frozen=True)
class SGD(Checked):
    """Stochastic gradient descent: v ← μ v + (1−dampening) g; step v, with Nesterov g + μ v."""

    momentum: BelowOne = 0.0
    dampening: Fraction = 0.0
    nesterov: bool = False
    weight_decay: NonNegative = 0.0

    def start(self, w: Tensor) -> Memory:
        """A momentum buffer of zeros; nothing if momentum is 0."""
        return {"buffer": torch.zeros_like(w)} if self.momentum else {}

    def step(self, g: Tensor, w: Tensor, memory: Memory, k: int) -> tuple[Tensor, Memory]:
        """The step, of which the caller subtracts lr times, and the new memory; k is from 0."""
        if self.weight_decay:
            g = torch.add(g, w, alpha=self.weight_decay)
        if not self.momentum:
            return g, memory
        v = g
        if k:
            v = torch.add(self.momentum * memory["buffer"], g, alpha=1 - self.dampening)
        return (torch.add(g, v, alpha=self.momentum) if self.nesterov else v), {"buffer": v}

    def effective_steps(self, H: int) -> float:
        """‖a‖₁, if H steps move the weights by lr Σ_j a_j g_j, which contain the weight decay."""
        if not self.momentum:
            return float(H)
        total = v = 0.0  # how far they go along a gradient of 1: all a_j ≥ 0
        for k in range(H):
            v = self.momentum * v + (1 - self.dampening) if k else 1.0
            total += 1 + self.momentum * v if self.nesterov else v
        return total


@dataclass(frozen=True)
class Adam(Checked):
    """Adam with bias correction (Kingma & Ba 2015), as torch.optim.Adam."""

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: Positive = 1e-8
    weight_decay: NonNegative = 0.0

    def start(self, w: Tensor) -> Memory:
        """Both moments are 0."""
        return {"m": torch.zeros_like(w), "v": torch.zeros_like(w)}

    def step(self, g: Tensor, w: Tensor, memory: Memory, k: int) -> tuple[Tensor, Memory]:
        """m̂ / (√v̂ + ε); in place, since new vectors take half as much time again."""
        if self.weight_decay:
            g = g + self.weight_decay * w
        m = (1 - self.beta1) * g
        m += self.beta1 * memory["m"]
        v = (1 - self.beta2) * g
        v *= g
        v += self.beta2 * memory["v"]
        root = (v / (1 - self.beta2 ** (k + 1))).sqrt_()
        root += self.eps
        step = m / (1 - self.beta1 ** (k + 1))
        step /= root
        return step, {"m": m, "v": v}

    def effective_steps(self, H: int) -> float:
        """Raise `FedbenchError`: the length of a step hardly depends on that of the gradient."""
        raise FedbenchError(
            "optimizer = adam: a part of the method reads effective_steps, but Adam's steps are no "
            "weighted sum of gradients; set optimizer to sgd"
        )


Optimiser = SGD | Adam  # `start` is called once per round, `step` at each step


def clip_by_norm(g: Tensor, limit: float | None) -> Tensor:
    """Scale g down to the norm `limit` if it is longer, as torch's clip_grad_norm_ does."""
    if limit is None:
        return g
    factor: Tensor = limit / (g.norm() + 1e-6)
    return g * factor.clamp(max=1.0)


def descend(
    loss: Callable[[Tensor], Tensor],
    w: Tensor,
    optimiser: Optimiser,
    rates: Sequence[float],
    memory: Memory | None = None,
    done: int = 0,
) -> tuple[Tensor, Memory]:
    """Train w at the server, one step per rate, with the `memory` after `done` earlier steps."""
    memory = optimiser.start(w) if memory is None else memory
    for k, rate in enumerate(rates, start=done):
        w = w.detach().requires_grad_()
        with torch.enable_grad():
            g = torch.autograd.grad(loss(w), w)[0]
        w = w.detach()
        step, memory = optimiser.step(g, w, memory, k)
        w = torch.add(w, step, alpha=-rate)
    return w, memory
