"""FedSpeed: a corrected pull towards the global model, and a gradient taken uphill."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import Fraction, NonNegative, Positive
from fedbench.core.ops import unit
from fedbench.core.part import AFTER_FEDEXP, Cost, Part, Sizes
from fedbench.core.round_data import Federation, Gradient, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedSpeed(Part):
    """Step along g̃ − ĝ_i + (1/λ)(y − x_t) with g̃ = (1−a) g(y) + a g(y + ρ g(y)/‖g(y)‖).

    ĝ_i ← ĝ_i − (1/λ)(y_i − x_t); the client uploads ŷ_i = y_i − λ ĝ_i and x_{t+1} = Σ p_i ŷ_i. Sun
    et al., "FedSpeed: Larger Local Interval, Less Communication Round, and Higher Generalization
    Accuracy", ICLR 2023, algorithm 1. The step uphill contains no weight decay. The plain mean
    of the cohort's models is scored. As in FedDyn, y_i stands for the minimiser that the local
    steps approach, with whatever optimiser.
    """

    client_keeps = ("g",)  # the correction ĝ_i
    MODELS = ("selected",)

    excludes: ClassVar = {"feddyn": "both add the clients' duals to the global model"}
    follows = AFTER_FEDEXP

    rho: NonNegative = 0.1  # length of the step uphill; 0 with `rule: feddyn` is FedDyn(α = 1/λ)
    a: Fraction = 1.0  # weight of the gradient that is taken uphill
    lam: Positive = 10.0  # λ; no neutral value: λ ĝ_i is a sum of x_t − y_i for every λ
    raw: bool = False  # step uphill ρ g, as printed; else ρ g/‖g‖, as both public codes
    rule: Literal["fedsp", "feddyn"] = "fedsp"  # feddyn: Σ p_i y_i + ū, u_i = −λ ĝ_i
    # decay: y/λ is added after clipping, as in the released code
    pull: Literal["gradient", "decay"] = "gradient"

    def server(self, w: Tensor, fed: Federation) -> State:
        """With FedDyn's rule, the mean starts at ū = 0."""
        return {"u": torch.zeros_like(w)} if self.rule == "feddyn" else {}

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """g̃ − ĝ_i + (1/λ)(y − x_t), or with 'decay' without y/λ."""
        g = inner(w)
        uphill = g if self.raw else unit(g)
        mixed = (1 - self.a) * g + self.a * inner(w + self.rho * uphill)
        moved = w - t.w if self.pull == "gradient" else -t.w
        return mixed - t.state["g"] + moved / self.lam

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """With 'decay', y/λ is added where weight decay is."""
        return g + w / self.lam if self.pull == "decay" else g

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the new ĝ_i; upload x_t − ŷ_i, or with FedDyn's rule x_t − y_i."""
        t.state["g"] = t.state["g"] - (t.y.w - t.w) / self.lam
        return delta + self.lam * t.state["g"] if self.rule == "fedsp" else delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The update d, or with FedDyn's rule d − ū."""
        if self.rule == "fedsp":
            return d
        r.state["u"] = r.state["u"] - weighted_mean(r.raw, torch.full_like(r.p, 1 / r.fed.K))
        return d - r.state["u"]

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score the plain mean of the cohort's models first, as 'selected'."""
        return {"selected": r.cohort_mean()}

    def cost(self, size: Sizes) -> Cost:
        """Two forward and backward passes in place of one; each client stores one vector."""
        dual = self.rule == "feddyn"
        return Cost(
            forward=1, backward=1, client_memory=size.d, server_memory=size.d * dual, ops_step=7,
            ops_end=1 if dual else 2, ops_receive=int(dual), ops_server=int(dual),
            ops_maintain=int(dual),
        )  # fmt: skip
