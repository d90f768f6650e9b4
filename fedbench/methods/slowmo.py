"""SlowMo: momentum at the server."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import BelowOne, Positive
from fedbench.core.part import AFTER_FEDEXP, GLOBAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class SlowMo(Part):
    """Add up the rounds' mean updates: m_{t+1} = β m_t + ḡ_t, x_{t+1} = x_t − α η_t m_{t+1}.

    ḡ_t = Σ p_i D_i/η_t. Wang et al., "SlowMo: Improving Communication-Efficient Distributed SGD
    with Slow Momentum", ICLR 2020; FedADC paper, algorithm 2. m is in gradient units: if η
    decays, earlier momentum is multiplied by the new η_t.
    """

    keeps = "m"  # the momentum
    decides = (GLOBAL_MOMENTUM,)
    follows = AFTER_FEDEXP

    # 0 with α = 1 is FedAvg; the FedADC paper tunes it over 0.6, 0.7, 0.8, 0.9
    beta: BelowOne = 0.9
    alpha: Positive = 1.0  # factor of the server's step

    def step(self, d: Tensor, r: Round) -> Tensor:
        """α η m_{t+1}, computed as α (β η m_t + d), so that β = 0 is FedAvg bit for bit."""
        m = r.state["m"]
        r.state["m"] = self.beta * m + d / r.lr
        return self.alpha * (self.beta * r.lr * m + d)

    def cost(self, size: Sizes) -> Cost:
        """The server divides by η, scales its step, and updates and stores m."""
        return Cost(server_memory=size.d, ops_server=2, ops_maintain=1)
