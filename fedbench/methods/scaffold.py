"""SCAFFOLD: control variates correct the drift of clients."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import Positive
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class Scaffold(Part):
    """Step along g − c_i + c; c_i estimates client i's gradient, c the mean of all clients'.

    c_i⁺ = c_i − c + D_i / (η_t ‖a_i‖₁) (option II) or ∇F_i(x_t) (option I);
    x_{t+1} = x_t − η_g Σ p_i D_i, c ← c + (1/K) Σ_{i∈S} (c_i⁺ − c_i). Karimireddy et al.,
    "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, algorithm 1.
    Weight decay is part of g, hence of c_i with both options. ‖a_i‖₁ is H_i for plain local SGD, as
    in the paper; with local momentum c_i⁺ is the mean of the gradients by what they moved. Option I
    holds for any local optimiser.
    """

    keeps = "c"  # the server's control
    client_keeps = ("c",)  # the client's control c_i
    sends = True
    numerics: ClassVar[dict[str, int]] = {"momentum": 4}  # ‖a_i‖₁ in place of H_i

    option: Literal["I", "II"] = "II"
    eta_g: Positive = 1.0  # factor of the server's step, in model units

    @property
    def needs_sgd(self) -> str:
        """Option II makes controls of the updates."""
        return "takes D_i/(η ‖a_i‖₁) for a mean gradient with option II" * (self.option == "II")

    def ask(self, w: Tensor, t: Turn) -> State:
        """With option I, compute ∇F_i(x_t) before training; nothing is sent."""
        if self.option == "I":
            t.scratch["new"] = t.full_gradient(w) + t.weight_decay * w
        return {}

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The corrected gradient g − c_i + c."""
        return inner(w) - t.state["c"] + t.msg["c"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store c_i⁺, upload c_i⁺ − c_i."""
        old = t.state["c"]
        if self.option == "I":
            t.state["c"] = t.scratch["new"]
        else:
            drift = (t.w - t.y.w) / (t.effective_steps * t.lr) - t.msg["c"]
            t.state["c"] = old + drift
        t.upload["c"] = t.state["c"] - old
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g Σ p_i D_i; c grows by the sum of the c_i⁺ − c_i over K, not m."""
        changes = [up["c"] for up in r.uploads]
        r.state["c"] = r.state["c"] + weighted_mean(changes, torch.full_like(r.p, 1 / r.fed.K))
        return self.eta_g * d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads one more vector; option I passes over its data once more."""
        extra = (self.option == "I") / size.epochs
        return Cost(
            down=size.d, up=size.d, forward=extra, backward=extra, client_memory=size.d,
            server_memory=size.d, ops_step=2, ops_end=1 if self.option == "I" else 4, ops_receive=1,
            ops_maintain=1,
        )  # fmt: skip
