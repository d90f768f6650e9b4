"""FedDPC: removes the last global direction from clients' updates, then scales them."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.ops import dot
from fedbench.core.part import GLOBAL_MOMENTUM, STEP_LENGTH, Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State

_COLLINEAR = {torch.float32: 1e-6, torch.float64: 1e-12}  # up to this ‖r‖/‖Δ‖, r is rounding


@dataclass(frozen=True)
class FedDPC(Part):
    """Step by the mean of s_i r_i, r_i = Δ_i − (Δ_i·P/P·P) P, P the last global update.

    "FedDPC: Handling Data Heterogeneity and Partial Client Participation in Federated Learning",
    equations 2 to 5; Δ_i = D_i/η. Equation 3 is lost in our copy of the paper, so that `scaling`
    offers readings of s_i:

    add    λ + ‖Δ‖/‖r‖; here ‖Δ‖/‖r‖ = 1/sin of the angle to P, which goes from ∞ at 0° to 1 at 90°
           as the text says
    mult   1 + λ ‖Δ‖/‖r‖
    ratio  ‖Δ‖/(‖r‖ + λ), λ in gradient units
    gain   λ ‖Δ‖/‖r‖
    none   1: the ablation 'projection only', and without `projection` two-sided FedAvg
    """

    excludes: ClassVar[dict[str, str]] = {
        "fedvarp": "both replace each client's update, and their order would change the result"
    }
    decides = (GLOBAL_MOMENTUM, STEP_LENGTH)

    lam: float = 1.0  # λ; the paper's value is lost in our copy
    scaling: Literal["add", "mult", "ratio", "gain", "none"] = "add"
    projection: bool = True  # False with scaling 'none' and κ = 1 is FedAvg
    # s_i in the first round, where r = Δ: by the formula, or 1
    first_round: Literal["formula", "one"] = "formula"
    kappa: Positive = 1.0  # η_g/η_l
    eta_g: Literal["decayed", "constant"] = "decayed"  # the step is κ η_t, or κ η_0

    def __post_init__(self) -> None:
        """Refuse scaling without projection, which the paper calls infeasible."""
        super().__post_init__()
        if not self.projection and self.scaling != "none":
            raise FedbenchError(
                f"FedDPC: scaling = {self.scaling!r} needs the residual of a projection; "
                "with projection = False set scaling to 'none'"
            )

    def server(self, w: Tensor, fed: Federation) -> State:
        """P = 0, since there was no update yet; without projection nothing is stored."""
        return {"P": torch.zeros_like(w)} if self.projection else {}

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """The vector s_i r_i, in model units; only λ in 'ratio' makes s_i depend on units."""
        if not self.projection:
            return delta
        P = r.state["P"]
        if "square" not in r.state:  # the same for all clients of a round; `step` drops it
            r.state["square"] = dot(P, P)
        square = r.state["square"]
        residual = delta - torch.where(square > 0, dot(delta, P) / square, 0) * P
        if self.scaling == "none" or (self.first_round == "one" and r.round == 0):
            return residual
        update_norm, residual_norm = dot(delta, delta).sqrt(), dot(residual, residual).sqrt()
        length = {
            "add": self.lam * residual_norm + update_norm,
            "mult": residual_norm + self.lam * update_norm,
            "ratio": update_norm * residual_norm / (residual_norm + self.lam * r.lr),
            "gain": self.lam * update_norm,
        }[self.scaling]
        collinear = residual_norm <= _COLLINEAR[delta.dtype] * update_norm  # r is rounding
        return torch.where(collinear, 0, residual / residual_norm * length)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """κ d; d becomes the next round's P, whose length does not matter."""
        if self.projection:
            r.state.pop("square", None)  # there is none if no client took part
            r.state["P"] = d
        return (self.kappa * r.fed.lr / r.lr if self.eta_g == "constant" else self.kappa) * d

    def cost(self, size: Sizes) -> Cost:
        """A client divides by η; the server computes r_i and s_i, and scales its step."""
        if not self.projection:
            return Cost(ops_end=1, ops_server=1)
        return Cost(
            server_memory=size.d,
            ops_end=1,
            ops_receive=2 if self.scaling == "none" else 4,  # Δ·P and r; with scaling ‖Δ‖² and ‖r‖²
            ops_server=2,  # P·P, and the step
            ops_maintain=1,
        )
