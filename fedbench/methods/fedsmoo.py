"""FedSMOO: FedDyn's pull, and a gradient taken uphill to where clients agree to climb."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative, Positive
from fedbench.core.ops import unit
from fedbench.core.part import AFTER_FEDEXP, Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, Gradient, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedSMOO(Part):
    """Step along g(y + ŝ) − λ_i + (1/β)(y − x_t), with ŝ = r u/‖u‖ and u = g(y) − μ_i − s.

    μ_i ← μ_i + ŝ − s in each step, λ_i ← λ_i − (1/β)(y_i − x_t) after the last. At the server
    x_{t+1} = Σ p_i y_i − β λ with the mean λ of all λ_i, and s = r v/‖v‖ with v = Σ p_i (μ_i − ŝ_i)
    of the last steps. Sun, Shen, Chen, Ding & Tao, "Dynamic Regularized Sharpness Aware
    Minimization in Federated Learning: Approaching Global Consistency and Smooth Landscape", ICML
    2023, algorithm 1. The released code (FL-Simulator) leaves the ŝ_i out of s (`omit_last`). The
    step uphill contains no weight decay; y_i stands for a minimiser, as in FedDyn.
    """

    client_keeps = ("lam", "mu")  # the client's duals
    excludes: ClassVar[dict[str, str]] = {
        "fedsam": "FedSMOO takes a step uphill itself; set its r",
        "fedspeed": "both take a step uphill and add the clients' duals to the global model",
        "feddyn": "both add the clients' duals to the global model",
    }
    follows = AFTER_FEDEXP
    precedes: ClassVar[dict[str, str]] = {
        "fedacg": "FedACG computes the model x from z, which no later part may change"
    }

    r: NonNegative = 0.1  # length of ŝ and s, in model units; 0 is FedDyn(α = 1/β)
    beta: Positive = 10.0  # β; no neutral value, as β λ is a mean of x_t − y_i for every β
    omit_last: bool = False  # s has the direction of Σ p_i μ_i, as released
    # decay: y/β is added after clipping, as in the released code
    pull: Literal["gradient", "decay"] = "gradient"

    def server(self, w: Tensor, fed: Federation) -> State:
        """Both the mean dual and the common step uphill start at 0."""
        return {"lam": torch.zeros_like(w), "s": torch.zeros_like(w)}

    def send(self, r: Round) -> State:
        """Send s."""
        return {"s": r.state["s"]}

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient uphill − λ_i + (1/β)(y − x_t), or with 'decay' without y/β."""
        up = t.scratch["up"] = self.r * unit(inner(w) - t.state["mu"] - t.msg["s"])
        moved = w - t.w if self.pull == "gradient" else -t.w
        return inner(w + up) - t.state["lam"] + moved / self.beta

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """With 'decay', y/β is added where weight decay is."""
        return g + w / self.beta if self.pull == "decay" else g

    def after(self, b: Batch, t: Turn) -> None:
        """μ_i ← μ_i + ŝ − s."""
        t.state["mu"] = t.state["mu"] + t.scratch["up"] - t.msg["s"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the new λ_i; upload μ_i − ŝ_i, or μ_i."""
        t.state["lam"] = t.state["lam"] - (t.y.w - t.w) / self.beta
        t.upload["s"] = t.state["mu"] if self.omit_last else t.state["mu"] - t.scratch["up"]
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The update d + β λ, with the new λ; the new s is stored."""
        moved = weighted_mean(r.raw, torch.full_like(r.p, 1 / r.fed.K))
        lam = r.state["lam"] + moved / self.beta
        r.state |= {"lam": lam, "s": self.r * unit(r.mean("s"))}
        return d + self.beta * lam

    def cost(self, size: Sizes) -> Cost:
        """A second pass; a vector more each way; two are stored by each client and the server."""
        return Cost(
            down=size.d, up=size.d, forward=1, backward=1, client_memory=2 * size.d,
            server_memory=2 * size.d, ops_step=10, ops_end=1 if self.omit_last else 2,
            ops_receive=2, ops_server=1, ops_maintain=3,
        )  # fmt: skip
