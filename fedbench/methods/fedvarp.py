"""FedVARP: the server uses the last update of each absent client."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.base.checked import Positive
from fedbench.core.ops import replaced
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Fed, Round, State


@dataclass(frozen=True)
class FedVARP(Part):
    """Stand in for absent clients: v = Σ_S p_i (D_i − Y_i) + Ȳ, x_{t+1} = x_t − η_g v, Y_i ← D_i.

    Ȳ is the mean over all K clients before the round. Jhunjhunwala, Sharma, Nagarkatti & Joshi,
    "FedVARP: Tackling the Variance Due to Partial Client Participation in Federated Learning",
    UAI 2022, FedVARP's server update.
    """

    eta_g: Positive = 1.0  # in model units
    # The original's units: remember D_i/(η_t H_i), step by η_g η_t H̄; equal if η and H are constant
    normalise: bool = False

    def server(self, w: Tensor, fed: Fed) -> State:
        """Y_i = 0; Ȳ as it was before the round and as it becomes."""
        return {"Y": fed.table(), "mean": torch.zeros_like(w), "next": torch.zeros_like(w)}

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """D_i − Y_i, after which Y_i is D_i."""
        seen = delta / (r.lr * r.steps[r.i]) if self.normalise else delta
        change = seen - replaced(r.mine["Y"], r.clients[r.i], seen)
        r.mine["next"] = r.mine["next"] + change / r.fed.K
        return change

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g v with the old Ȳ."""
        v = d + r.mine["mean"]
        r.mine["mean"] = r.mine["next"]
        return (self.eta_g * r.lr * (r.p @ r.steps) if self.normalise else self.eta_g) * v

    def cost(self, size: Sizes) -> Cost:
        """K vectors; a client's division by η H, in the original's units, as FedDPC counts."""
        return Cost(
            server_memory=size.K * size.d,
            ops_end=1,
            ops_receive=1,  # D_i − Y_i
            ops_server=2,  # + Ȳ, and the step
            ops_maintain=size.m + 1,  # Y_i ← D_i, and Ȳ
        )
