"""Two-sided FedAvg: the server scales its step."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checked import Positive
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Round


@dataclass(frozen=True)
class TwoSided(Part):
    """Scale the step that the clients agree on: x_{t+1} = x_t − κ Σ p_i D_i.

    Yang, Fang & Liu, "Achieving Linear Speedup with Partial Worker Participation", ICLR 2021,
    algorithm 1; the FedDPC paper's ablation (section 5.3.2). κ = η_g/η_l: there updates are D_i/η_l
    and the server multiplies by η_g.
    """

    follows: ClassVar[dict[str, str]] = {
        "fedexp": "it compares the plain mean of the updates with their lengths"
    }

    kappa: Positive = 1.0  # 1 is FedAvg

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The mean update, κ times as long."""
        return self.kappa * d

    def cost(self, size: Sizes) -> Cost:
        """One scaling at the server."""
        return Cost(ops_server=1)
