"""FedDyn: a dynamic regulariser that aligns local and global stationary points."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import AFTER_FEDEXP, Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, Turn, weighted_mean


@dataclass(frozen=True)
class FedDyn(Part):
    """Pull each local model towards x_t − u_i: g + α_i (y − x_t + u_i).

    u_i ← u_i + y_i − x_t for the cohort (the paper's ∇L_i is −α u_i), ū = (1/K) Σ_all u_i,
    x_{t+1} = Σ p_i y_i + ū. Acar et al., "Federated Learning Based on Dynamic Regularization", ICLR
    2021, algorithm 1. The plain mean of the cohort's models is scored. y_i stands for the minimiser
    that the local steps approach, with whatever optimiser and in however many of them.
    """

    keeps = "u"  # the mean ū
    client_keeps = ("u",)  # the client's u_i
    MODELS = ("selected",)

    excludes: ClassVar = {"fedspeed": "both add the clients' duals to the global model"}
    follows = AFTER_FEDEXP

    alpha: NonNegative = 0.01  # no neutral value: at 0 the server still adds ū
    by_size: bool = True  # α_i = α n̄/n_i, n̄ the mean n_i, as released; else α_i = α
    # decay: α y is added after clipping, as in the released code
    pull: Literal["gradient", "decay"] = "gradient"

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient of loss + (α_i/2)‖y − x_t + u_i‖², or with 'decay' without α_i y."""
        moved = w - t.w if self.pull == "gradient" else -t.w
        return inner(w) + self._alpha(t) * (moved + t.state["u"])

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """With 'decay', α_i y is added where weight decay is."""
        return g + self._alpha(t) * w if self.pull == "decay" else g

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """u_i ← u_i + y_i − x_t."""
        t.state["u"] = t.state["u"] + (t.y.w - t.w)
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The update d − ū; ū falls by (1/K) Σ D_i, so that the server needs no u_i."""
        r.state["u"] = r.state["u"] - weighted_mean(r.raw, torch.full_like(r.p, 1 / r.fed.K))
        return d - r.state["u"]

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score the plain mean of the cohort's models first, as 'selected'."""
        return {"selected": r.cohort_mean()}

    def cost(self, size: Sizes) -> Cost:
        """Each client stores one vector, and so does the server."""
        return Cost(
            client_memory=size.d, server_memory=size.d, ops_step=3, ops_end=1, ops_receive=1,
            ops_server=1, ops_maintain=1,
        )  # fmt: skip

    def _alpha(self, t: Turn) -> float | Tensor:
        return self.alpha * t.fed.n.mean() / t.n if self.by_size else self.alpha
