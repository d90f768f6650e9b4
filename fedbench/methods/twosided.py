"""Two-sided FedAvg: the server's step has a factor of its own."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import Positive
from fedbench.core.part import AFTER_FEDEXP, Cost, Part, Sizes
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class TwoSided(Part):
    """Scale the mean update: x_{t+1} = x_t − κ Σ p_i D_i.

    Yang, Fang & Liu, "Achieving Linear Speedup with Partial Worker Participation", ICLR 2021,
    algorithm 1; the FedDPC paper's ablation (section 5.3.2). κ = η_g/η_l: in that paper updates are
    D_i/η_l, and the server multiplies them by η_g.
    """

    follows = AFTER_FEDEXP

    kappa: Positive = 1.0  # 1 is FedAvg

    def step(self, d: Tensor, r: Round) -> Tensor:
        """κ times the mean update."""
        return self.kappa * d

    def cost(self, size: Sizes) -> Cost:
        """The server scales its step."""
        return Cost(ops_server=1)
