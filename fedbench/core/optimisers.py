"""Local optimisers on a flat vector: from a gradient to a step; lr times the step is subtracted.

They compute what PyTorch's SGD and Adam do (weight decay is L2, the first momentum buffer is the
gradient itself even when dampened) and start anew each round (convention 5). Sums are written
`torch.add(a, b, alpha=c)`, which rounds once as PyTorch's own do, so that SGD has the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fedbench.base.checked import Checked, Decay, Fraction, NonNegative, Positive
from fedbench.base.errors import FedbenchError

Memory = dict[str, Tensor]


class Optimiser(Protocol):
    """What local training calls: `start` once per round, `step` at each local step."""

    def start(self, w: Tensor) -> Memory:
        """The memory before the first step."""
        ...

    def step(self, g: Tensor, w: Tensor, memory: Memory, k: int) -> tuple[Tensor, Memory]:
        """The step (subtract lr times it) and the new memory; k counts steps from 0."""
        ...


@dataclass(frozen=True)
class SGD(Checked):
    """Stochastic gradient descent: v = μ v + (1−dampening) g, step v (or g + μ v)."""

    momentum: Decay = 0.0
    dampening: Fraction = 0.0
    nesterov: bool = False
    weight_decay: NonNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise FedbenchError("SGD: nesterov = True needs momentum > 0 and dampening = 0")

    def start(self, w: Tensor) -> Memory:
        """An empty buffer, or nothing without momentum."""
        return {"buffer": torch.zeros_like(w)} if self.momentum else {}

    def step(self, g: Tensor, w: Tensor, memory: Memory, k: int) -> tuple[Tensor, Memory]:
        """Weight decay, then the momentum buffer, then the step."""
        if self.weight_decay:
            g = torch.add(g, w, alpha=self.weight_decay)
        if not self.momentum:
            return g, memory
        v = g
        if k:
            v = torch.add(self.momentum * memory["buffer"], g, alpha=1 - self.dampening)
        return (torch.add(g, v, alpha=self.momentum) if self.nesterov else v), {"buffer": v}


@dataclass(frozen=True)
class Adam(Checked):
    """Adam with bias correction (Kingma & Ba 2015), as torch.optim.Adam."""

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    eps: Positive = 1e-8
    weight_decay: NonNegative = 0.0

    def start(self, w: Tensor) -> Memory:
        """Both moments at zero."""
        return {"m": torch.zeros_like(w), "v": torch.zeros_like(w)}

    def step(self, g: Tensor, w: Tensor, memory: Memory, k: int) -> tuple[Tensor, Memory]:
        """m̂ / (√v̂ + ε)."""
        g = g + self.weight_decay * w
        m = self.beta1 * memory["m"] + (1 - self.beta1) * g
        v = self.beta2 * memory["v"] + (1 - self.beta2) * g * g
        m_hat, v_hat = m / (1 - self.beta1 ** (k + 1)), v / (1 - self.beta2 ** (k + 1))
        return m_hat / (v_hat.sqrt() + self.eps), {"m": m, "v": v}


def clip_by_norm(g: Tensor, limit: float | None) -> Tensor:
    """Scale g down to norm `limit` if it is longer (as torch's clip_grad_norm_)."""
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
    """Train w at the server: one step on `loss` for each learning rate.

    `memory` is what the optimiser remembers of the `done` steps before; its new state is returned.
    """
    memory = optimiser.start(w) if memory is None else memory
    for k, rate in enumerate(rates, start=done):
        w = w.detach().requires_grad_()
        with torch.enable_grad():
            g = torch.autograd.grad(loss(w), w)[0]
        w = w.detach()
        step, memory = optimiser.step(g, w, memory, k)
        w = torch.add(w, step, alpha=-rate)
    return w, memory
