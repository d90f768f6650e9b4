"""FedSpeed: prox-correction and an extra ascent step."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checked import Fraction, NonNegative, Positive
from fedbench.core.ops import unit
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Fed, Gradient, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedSpeed(Part):
    """Step along g̃ − ĝ_i + (1/λ)(y − x_t) with g̃ = (1−a) g(y) + a g(y + ρ g(y)/‖g(y)‖).

    ĝ_i ← ĝ_i − (1/λ)(y_i − x_t); the client uploads ŷ_i = y_i − λ ĝ_i and x_{t+1} = Σ p_i ŷ_i. Sun
    et al., "FedSpeed: Larger Local Interval, Less Communication Round, and Higher Generalization
    Accuracy", ICLR 2023, algorithm 1. The ascent knows no weight decay. Scored on the mean of the
    y_i.
    """

    MODELS: ClassVar[tuple[str, ...]] = ("selected",)

    excludes: ClassVar = {"feddyn": "both add the clients' duals to the global model"}
    follows: ClassVar[dict[str, str]] = {
        "fedexp": "it compares the plain mean of the updates with their lengths"
    }

    rho: NonNegative = 0.1  # length of the ascent; 0 with `rule: feddyn` is FedDyn(α = 1/λ)
    a: Fraction = 1.0  # weight of the gradient uphill
    lam: Positive = 10.0  # λ; no neutral value: ŷ_i carries Σ (y_i − x_t) for every λ
    raw: bool = False  # ascent ρ g, as printed; else ρ g/‖g‖, as both public codes
    rule: Literal["fedsp", "feddyn"] = "fedsp"  # feddyn: Σ p_i y_i + ū, u_i = −λ ĝ_i
    pull: Literal["gradient", "decay"] = "gradient"  # decay: y/λ joins after the clip, as released

    def server(self, w: Tensor, fed: Fed) -> State:
        """ū = 0, for FedDyn's rule only."""
        return {"u": torch.zeros_like(w)} if self.rule == "feddyn" else {}

    def client(self, w: Tensor, fed: Fed) -> State:
        """ĝ_i = 0."""
        return {"g": torch.zeros_like(w)}

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """g̃ − ĝ_i + (1/λ)(y − x_t), or without the part that is y/λ."""
        g = inner(w)
        ascent = g if self.raw else unit(g)
        mixed = (1 - self.a) * g + self.a * inner(w + self.rho * ascent)
        moved = w - t.w if self.pull == "gradient" else -t.w
        return mixed - t.mine["g"] + moved / self.lam

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """y/λ, where weight decay stands."""
        return g + w / self.lam if self.pull == "decay" else g

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """The new ĝ_i; the upload is corrected with it."""
        t.mine["g"] = t.mine["g"] - (t.y.w - t.w) / self.lam
        return delta + self.lam * t.mine["g"] if self.rule == "fedsp" else delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Nothing more, or FedDyn's ū."""
        if self.rule == "fedsp":
            return d
        r.mine["u"] = r.mine["u"] - weighted_mean(r.raw, torch.full_like(r.p, 1 / r.fed.K))
        return d - r.mine["u"]

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """The mean of the cohort's models leads; x_{t+1} stands beside it as 'next'."""
        return {"selected": r.cohort_mean()}

    def cost(self, size: Sizes) -> Cost:
        """Two passes each way in place of one, one vector kept at each client."""
        dual = self.rule == "feddyn"
        return Cost(
            forward=1,
            backward=1,
            client_memory=size.d,
            server_memory=size.d * dual,
            ops_step=7,
            ops_end=1 if dual else 2,
            ops_receive=int(dual),
            ops_server=int(dual),
            ops_maintain=int(dual),
        )
