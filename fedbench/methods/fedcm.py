"""FedCM: every local step mixes the gradient with the last global update."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import Positive, Share
from fedbench.core.part import LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, Turn, weighted_mean


@dataclass(frozen=True)
class FedCM(Part):
    """Step along α g + (1−α) Δ_t, where Δ_{t+1} = Σ p_i D_i / (η_t ‖a_i‖₁) is a mean direction.

    x_{t+1} = x_t − γ_s Σ p_i D_i. Xu, Wang, Wang & Yao, "FedCM: Federated Learning with
    Client-level Momentum", 2021, algorithm 1. Weight decay is not multiplied by α. Δ_0 = 0, so that
    the steps of the first rounds are short. ‖a_i‖₁ is H_i for plain local SGD, as in the paper; a
    local momentum is one of the directions α g + (1−α) Δ_t.
    """

    keeps = "delta"  # the global direction Δ
    sends = True
    numerics: ClassVar[dict[str, int]] = {"momentum": 4}  # ‖a_i‖₁ in place of H_i
    decides = (LOCAL_MOMENTUM,)
    needs_sgd = "takes D_i/(η ‖a_i‖₁) for a mean gradient"

    alpha: Share = 0.1  # weight of the gradient; 1 is FedAvg
    gamma_s: Positive = 1.0  # factor of the server's step

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """α g + (1−α) Δ_t."""
        return self.alpha * inner(w) + (1 - self.alpha) * t.msg["delta"]

    def step(self, d: Tensor, r: Round) -> Tensor:
        """γ_s Σ p_i D_i; Δ_{t+1} is stored, with each D_i divided by that client's ‖a_i‖₁."""
        r.state["delta"] = weighted_mean(r.raw, r.p / r.effective_steps) / r.lr
        return self.gamma_s * d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent one more vector."""
        return Cost(
            down=size.d, server_memory=size.d, ops_begin=1, ops_step=2, ops_receive=1,
            ops_maintain=1,
        )  # fmt: skip
