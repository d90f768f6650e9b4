"""FedAdam: Adam at the server."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import BelowOne, NonNegative, Positive
from fedbench.core.server_optimisers import Adaptive


@dataclass(frozen=True)
class FedAdam(Adaptive):
    """Step by η_g m/(√v + τ), m ← β1 m + (1−β1) D̄, v ← β2 v + (1−β2) D̄².

    Reddi et al., "Adaptive Federated Optimization", ICLR 2021, algorithm 2. No bias correction.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.99
    eta_g: Positive = 0.01  # the paper tunes it; with 0.1 LeNet-5 does not learn CIFAR-10
    tau: Positive = 1e-3
    v0: NonNegative | None = None  # v before round 0; null: τ²; public simulators take 0

    def second(self, v: Tensor, d: Tensor) -> Tensor:
        """The average of v and D̄²."""
        return self.beta2 * v + (1 - self.beta2) * d * d
