"""FedADC with double momentum: a local one beside the share of the server's in every step."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import BelowOne, Count, Positive
from fedbench.core.part import GLOBAL_MOMENTUM, LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Round, Turn


@dataclass(frozen=True)
class FedADCDouble(Part):
    """Step along m̄ + u with m̄ = β m_t / H, u¹ = g¹, u^k = φ u^{k−1} + (1−φ) g^k.

    u starts anew in each round. m_{t+1} = Σ p_i D_i / η_t, x_{t+1} = x_t − α η_t m_{t+1}.
    Ozfatura, Ozfatura & Gündüz, "FedADC: Accelerated Federated Learning with Drift Control",
    algorithm 4.
    """

    keeps = "m"  # the momentum
    sends = True
    excludes: ClassVar = {"fedadc": "that is the same method without the local momentum"}
    decides = (GLOBAL_MOMENTUM, LOCAL_MOMENTUM)
    own_momentum = True

    beta: BelowOne = 0.9  # 0 with φ = 0 and α = 1 is FedAvg
    # Not in the paper; 0 is FedADC's blue variant; with 0.9 models did not learn
    phi: BelowOne = 0.5
    alpha: Positive = 1.0  # factor of the server's step
    divisor: Count | None = None  # H in m̄; null: the client's H_i

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """m̄ + u; the first u is the gradient itself."""
        last = t.scratch.get("u")
        t.scratch["u"] = step if last is None else self.phi * last + (1 - self.phi) * step
        return t.scratch["u"] + t.msg["m"] * (self.beta / (self.divisor or t.H))

    def step(self, d: Tensor, r: Round) -> Tensor:
        """α η m_{t+1}; the mean update d contains η β m_t already, but for `divisor`."""
        r.state["m"] = d / r.lr
        return self.alpha * d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent one more vector."""
        return Cost(
            down=size.d, server_memory=size.d, ops_begin=1, ops_step=3, ops_server=1, ops_maintain=1
        )
