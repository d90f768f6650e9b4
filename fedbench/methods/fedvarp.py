"""FedVARP: the server uses the last update of each client that is absent."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checks import Positive
from fedbench.core.ops import swap_rows
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State


@dataclass(frozen=True)
class FedVARP(Part):
    """Step by v = Σ_S p_i (D_i − Y_i) + Ȳ: x_{t+1} = x_t − η_g v, Y_i ← D_i for the cohort.

    Y_i is client i's last update, Ȳ the mean of all K before the round. Jhunjhunwala, Sharma,
    Nagarkatti & Joshi, "FedVARP: Tackling the Variance Due to Partial Client Participation in
    Federated Learning", UAI 2022, FedVARP's server update.
    """

    precedes = dict.fromkeys(  # parts that scale or remember the mean update
        (
            *("fedadagrad", "fedadam", "fedyogi", "fedadc", "fedadcdouble"),
            *("fedcm", "feddf", "scaffold", "slowmo", "twosided"),
        ),
        "FedVARP adds what it remembers of absent clients to the mean update",
    )
    numerics: ClassVar[dict[str, int]] = {"momentum": 4}  # ‖a_i‖₁ in place of H_i

    eta_g: Positive = 1.0  # factor of the server's step, in model units
    # The original's units: Y_i = D_i/(η_t ‖a_i‖₁) and the step η_g η_t Σ p_i ‖a_i‖₁ v, where ‖a_i‖₁
    # is H_i for plain local SGD. It makes no difference if η and H are constant
    normalise: bool = False

    @property
    def needs_sgd(self) -> str:
        """In the original's units the memory is of mean gradients."""
        return "takes D_i/(η ‖a_i‖₁) for a mean gradient with normalise = true" * self.normalise

    def server(self, w: Tensor, fed: Federation) -> State:
        """Y_i = 0; `mean` is Ȳ before the round, `next` Ȳ after it."""
        return {"Y": fed.table(), "mean": torch.zeros_like(w), "next": torch.zeros_like(w)}

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """D_i − Y_i; afterwards Y_i ← D_i."""
        update = delta / (r.lr * r.effective_steps[r.i]) if self.normalise else delta
        change = update - swap_rows(r.state["Y"], r.clients[r.i], update)
        r.state["next"] = r.state["next"] + change / r.fed.K
        return change

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g v, with Ȳ from before the round."""
        v = d + r.state["mean"]
        r.state["mean"] = r.state["next"]
        return (self.eta_g * r.lr * (r.p @ r.effective_steps) if self.normalise else self.eta_g) * v

    def cost(self, size: Sizes) -> Cost:
        """The server stores K vectors and Ȳ twice; a client divides by η H, as FedDPC counts."""
        return Cost(
            server_memory=(size.K + 2) * size.d,
            ops_end=1,
            ops_receive=1,  # D_i − Y_i
            ops_server=2,  # + Ȳ, and the step
            ops_maintain=size.m + 1,  # Y_i ← D_i, and Ȳ
        )
