"""FedDPC: removes the last global direction from the updates, then scales them."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checked import Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.ops import dot
from fedbench.core.part import GLOBAL_MOMENTUM, STEP_LENGTH, Cost, Part, Sizes
from fedbench.core.round import Fed, Round, State

_COLLINEAR = {torch.float32: 1e-6, torch.float64: 1e-12}  # ‖r‖/‖Δ‖ that is rounding alone


@dataclass(frozen=True)
class FedDPC(Part):
    """Step by the mean of s_i r_i, r_i = Δ_i − (Δ_i·P/P·P) P, P the global update before.

    "FedDPC: Handling Data Heterogeneity and Partial Client Participation in Federated Learning",
    equations 2 to 5; Δ_i = D_i/η. The printed equation 3 is lost; `scaling` chooses s_i:

    add    λ + ‖Δ‖/‖r‖: csc of the angle to P, in (∞, 1) for (0°, 90°) as the text says
    mult   1 + λ ‖Δ‖/‖r‖
    ratio  ‖Δ‖/(‖r‖ + λ), λ in gradient units
    gain   λ ‖Δ‖/‖r‖
    none   1: the ablation 'projection only', and without `projection` two-sided FedAvg
    """

    excludes: ClassVar[dict[str, str]] = {
        "fedvarp": "both replace each client's update, and the result depends on who is first"
    }
    decides: ClassVar[tuple[str, ...]] = (GLOBAL_MOMENTUM, STEP_LENGTH)

    lam: float = 1.0  # λ; the paper's value is lost
    scaling: Literal["add", "mult", "ratio", "gain", "none"] = "add"
    projection: bool = True  # False with scaling 'none' and κ = 1 is FedAvg
    first_round: Literal["formula", "one"] = "formula"  # s_i before there is a P: r = Δ, or 1
    kappa: Positive = 1.0  # η_g/η_l
    eta_g: Literal["decayed", "constant"] = "decayed"  # step κ η_t, or κ η_0 where η decays

    def __post_init__(self) -> None:
        """Refuse what the paper calls infeasible."""
        super().__post_init__()
        if not self.projection and self.scaling != "none":
            raise FedbenchError(
                f"FedDPC: scaling = {self.scaling!r} needs the residual of a projection; "
                "with projection = False set scaling to 'none'"
            )

    def server(self, w: Tensor, fed: Fed) -> State:
        """P = 0: there was no update yet."""
        return {"P": torch.zeros_like(w)}

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """s_i r_i, in model units: s_i is free of units but for λ in 'ratio'."""
        if not self.projection:
            return delta
        P = r.mine["P"]
        square = dot(P, P)
        residual = delta - torch.where(square > 0, dot(delta, P) / square, 0) * P
        if self.scaling == "none" or (self.first_round == "one" and r.round == 0):
            return residual
        return self._scaled(delta, residual, r.lr)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """κ Δ_t; Δ_t is the next round's P, whose length does not matter."""
        r.mine["P"] = d
        return (self.kappa * r.fed.lr / r.lr if self.eta_g == "constant" else self.kappa) * d

    def cost(self, size: Sizes) -> Cost:
        """The division by η at a client; at the server two axpy for one addition, and the step."""
        if not self.projection:
            return Cost(ops_end=1, ops_server=1)
        return Cost(
            server_memory=size.d,
            ops_end=1,
            ops_receive=2 if self.scaling == "none" else 4,  # Δ·P, ‖Δ‖², ‖r‖²; r
            ops_server=2,  # P·P, and the step
            ops_maintain=1,
        )

    def _scaled(self, delta: Tensor, residual: Tensor, lr: float) -> Tensor:
        """Unit residual times s‖r‖; 0 for an update along P, whose residual is rounding."""
        whole, rest = dot(delta, delta).sqrt(), dot(residual, residual).sqrt()
        length = {
            "add": self.lam * rest + whole,
            "mult": rest + self.lam * whole,
            "ratio": whole * rest / (rest + self.lam * lr),
            "gain": self.lam * whole,
        }[self.scaling]
        collinear = rest <= _COLLINEAR[delta.dtype] * whole
        return torch.where(collinear, 0, residual / rest * length)
