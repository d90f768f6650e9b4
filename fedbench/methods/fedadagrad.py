"""FedAdagrad: Adagrad at the server."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import BelowOne, NonNegative, Positive
from fedbench.core.server_optimisers import Adaptive


@dataclass(frozen=True)
class FedAdagrad(Adaptive):
    """Step by η_g m/(√v + τ), m ← β1 m + (1−β1) D̄, v ← v + D̄².

    Reddi et al., "Adaptive Federated Optimization", ICLR 2021, algorithm 2; its experiments
    set β1 = 0 here, as plain Adagrad has no momentum. No bias correction.
    """

    beta1: BelowOne = 0.0  # FedAdam and FedYogi have 0.9
    eta_g: Positive = 0.1  # the paper tunes it
    tau: Positive = 1e-3
    v0: NonNegative | None = None  # v before round 0; null: τ²; public simulators take 0

    def second(self, v: Tensor, d: Tensor) -> Tensor:
        """D̄² is added."""
        return v + d * d
