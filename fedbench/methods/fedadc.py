"""FedADC: every local step contains a share of the server's momentum."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from fedbench.base.checks import BelowOne, Count, Positive
from fedbench.core.part import GLOBAL_MOMENTUM, LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, Turn


@dataclass(frozen=True)
class FedADC(Part):
    """Spread the server's momentum over the local steps: m̄ = β_l m_t / H.

    red (Nesterov): y½ = y − η m̄, y ← y½ − η g(y½). blue (heavy ball): y ← y − η (g(y) + m̄).
    m_{t+1} = Σ p_i D_i / η_t + (β_g − β_l) m_t, x_{t+1} = x_t − α η_t m_{t+1}.
    Ozfatura, Ozfatura & Gündüz, "FedADC: Accelerated Federated Learning with Drift Control",
    algorithm 3, in which the local optimiser has no momentum. If it has one, m̄ does not enter it:
    the H steps add β_l m_t to D_i / η_t with any local optimiser, so that H is not ‖a_i‖₁ here.
    """

    keeps = "m"  # the momentum
    sends = True
    excludes: ClassVar = {"fedadcdouble": "that is the same method with a second, local momentum"}
    decides = (GLOBAL_MOMENTUM, LOCAL_MOMENTUM)

    beta: BelowOne = 0.9  # β_l and β_g, unless they are given; 0 with α = 1 is FedAvg
    variant: Literal["red", "blue"] = "red"
    alpha: Positive = 1.0  # factor of the server's step
    beta_l: BelowOne | None = None  # discount of the clients; 0 is SlowMo
    beta_g: BelowOne | None = None  # discount of the server
    divisor: Count | None = None  # H in m̄; null: the client's H_i (Table I says H ≅ 10)
    decay_at: Literal["half", "whole"] = "half"  # red's weight decay: of y½ or of y

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient at y½ (red) or at y (blue)."""
        return inner(w - t.lr * self._share(t)) if self.variant == "red" else inner(w)

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """Correct g so that the weight decay wd·y, which is added next, becomes wd·y½."""
        if self.variant == "blue" or self.decay_at == "whole":
            return g
        return g - t.weight_decay * t.lr * self._share(t)

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """Add m̄, in both variants."""
        return step + self._share(t)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """α η m_{t+1}; the mean update d contains η β_l m_t already, but for `divisor`."""
        beta_l, beta_g = self._discounts()
        remainder = (beta_g - beta_l) * r.state["m"]
        r.state["m"] = d / r.lr + remainder
        return self.alpha * (d + r.lr * remainder)

    def cost(self, size: Sizes) -> Cost:
        """A client is sent one more vector; 'red' computes y½ before each gradient."""
        return Cost(
            down=size.d, server_memory=size.d, ops_begin=1,
            ops_step=2 if self.variant == "red" else 1, ops_server=2, ops_maintain=1,
        )  # fmt: skip

    def _discounts(self) -> tuple[float, float]:
        return (
            self.beta if self.beta_l is None else self.beta_l,
            self.beta if self.beta_g is None else self.beta_g,
        )

    def _share(self, t: Turn) -> Tensor:
        """m̄ = β_l m_t / H."""
        return t.msg["m"] * (self._discounts()[0] / (self.divisor or t.H))
