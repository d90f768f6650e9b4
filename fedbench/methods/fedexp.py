"""FedExP: the server's step is longer if the clients' updates differ more."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.ops import dot
from fedbench.core.part import STEP_LENGTH, Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State


@dataclass(frozen=True)
class FedExP(Part):
    """Extrapolate: x_{t+1} = x_t − η_g D̄, η_g = max{1, Σ p_i‖D_i‖² / (2 (‖D̄‖² + ε))}.

    Jhunjhunwala, Wang & Joshi, "FedExP: Speeding Up Federated Averaging via Extrapolation", ICLR
    2023, algorithm 1. D̄ = Σ p_i D_i; ε is in squared model units. The authors score the mean of
    the last two global models, as the part `meanoftwo` does.
    """

    decides = (STEP_LENGTH,)
    excludes: ClassVar[dict[str, str]] = {
        "fedvarp": "FedVARP's step is not the mean of the updates that it receives"
    }
    follows: ClassVar = {"fednova": "FedNova rescales the updates, whose lengths FedExP compares"}

    eps: NonNegative = 1e-3  # FedAvg only in the limit of infinity
    times_cohort: bool = False  # the authors' code: |S| ε in place of ε
    decayed: bool = False  # the authors' code: ε falls with η², as ε (η_t/η_0)²

    def server(self, w: Tensor, fed: Federation) -> State:
        """The sum Σ p_i‖D_i‖² of the present round."""
        return {"squares": w.new_zeros((), dtype=torch.float64)}

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """Leave the update as it is; add p_i‖D_i‖² to the round's sum."""
        sum_so_far = r.state["squares"] if r.i else 0
        r.state["squares"] = sum_so_far + r.p[r.i] * dot(delta, delta)
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g D̄, with η_g = 1 where ‖D̄‖² + ε is 0."""
        eps = self.eps * (len(r.clients) if self.times_cohort else 1)
        eps = eps * (r.lr / r.fed.lr) ** 2 if self.decayed else eps
        denominator = 2 * (dot(d, d) + eps)
        ratio = torch.where(denominator > 0, r.state["squares"] / denominator, 1)
        return ratio.clamp(min=1) * d

    def cost(self, size: Sizes) -> Cost:
        """‖D_i‖² per client, ‖D̄‖² and the scaling; the sum is one number."""
        return Cost(server_memory=1, ops_receive=1, ops_server=2)
