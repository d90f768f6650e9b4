"""RMFL: MFL, but with other weights of the local gradients in the uploaded momentum."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedbench.base.checks import BelowOne
from fedbench.core.part import LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Round, Turn


@dataclass(frozen=True)
class RMFL(Part):
    """Train as MFL, but upload v̂ = a·V + Σ_k c_k g_k in place of v^H.

    Xiao & Wang, "Rethinking the initialization of Momentum in Federated Learning with Heterogeneous
    Data", equation 3. Its printed indices contradict each other (t+1 gradients for t steps, weights
    that sum to 2−β), so that `reading` chooses:

    r1       (1−β) V + (1−β) Σ_{k=1}^{H−1} β^k g_k + β^H g_H; weights sum to 1
    lit      (1−β) V + (1−β) Σ_{k=0}^{H−2} β^k g_{k+1} + β^{H−1} g_H, as printed
    lit0     'lit' without V
    r2       β^H V + (1−β) Σ_{k=0}^{H−1} β^k g_{k+1}, the dampened average reversed
    r2prime  β^H V + Σ_{k=0}^{H−1} β^k g_{k+1}, equation 1 reversed

    With r2 and r2prime a gradient weighs less the later it is. With the others this holds for all
    but the last: g_H weighs most of all where β^{H−1} > 1−β, at β = 0.9 below 23 steps.
    """

    keeps = "v"  # the momentum V
    sends = True
    decides = (LOCAL_MOMENTUM,)
    own_momentum = True
    uploaded_momentum = "v"

    beta: BelowOne = 0.9  # 0 is FedAvg
    reading: Literal["r1", "lit", "lit0", "r2", "r2prime"] = "r1"
    dampened: bool = False  # local v ← β v + (1−β) g, the 'moving average' of the paper's text

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Fill the buffer v with V; the sum of the c_k g_k starts at 0."""
        t.scratch |= {"v": t.msg["v"], "gathered": torch.zeros_like(w), "last": torch.zeros_like(w)}
        return w

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The new buffer v ← β v + g; c_k g is added to the sum."""
        v = self.beta * t.scratch["v"] + (1 - self.beta if self.dampened else 1) * step
        gathered = t.scratch["gathered"] + self._early(t.k) * step
        t.scratch |= {"v": v, "gathered": gathered, "last": step}
        return v

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload v̂; the last gradient, added with the weight of an earlier one, is corrected."""
        inherited, gradients = self.weights(t.H)
        correction = (gradients[-1] - self._early(t.H - 1)) * t.scratch["last"]
        t.upload["v"] = inherited * t.msg["v"] + t.scratch["gathered"] + correction
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store V_{t+1} = Σ p_i v̂_i; the global update is left as it is."""
        r.state["v"] = r.mean("v")
        return d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads one more vector."""
        return Cost(down=size.d, up=size.d, server_memory=size.d)

    def weights(self, H: int) -> tuple[float, list[float]]:
        """The weights in v̂ of V and of g_1 … g_H."""
        beta, early = self.beta, [self._early(k) for k in range(H)]
        inherited = {"lit0": 0.0, "lit": 1 - beta, "r1": 1 - beta}.get(self.reading, beta**H)
        last = {"lit0": beta ** (H - 1), "lit": beta ** (H - 1), "r1": beta**H}
        return inherited, [*early[:-1], last.get(self.reading, early[-1])]

    def _early(self, k: int) -> float:
        """The weight of the gradient of step k, counted from 0, unless it is the last."""
        scale = 1 if self.reading == "r2prime" else 1 - self.beta
        return scale * self.beta ** (k + 1 if self.reading == "r1" else k)
