"""FedAdagrad: Adagrad at the server."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import BelowOne, NonNegative, Positive
from fedbench.core.ops import adaptive_state, adaptive_step
from fedbench.core.part import GLOBAL_MOMENTUM, SERVER_OPTIMISER, STEP_LENGTH, Cost, Part, Sizes
from fedbench.core.round import Federation, Round, State


@dataclass(frozen=True)
class FedAdagrad(Part):
    """Step by η_g m/(√v + τ), m ← β1 m + (1−β1) D̄, v ← v + D̄².

    Reddi et al., "Adaptive Federated Optimization", ICLR 2021, algorithm 2; its experiments
    set β1 = 0 here, as plain Adagrad has no momentum. No bias correction.
    """

    decides: ClassVar[tuple[str, ...]] = (SERVER_OPTIMISER, GLOBAL_MOMENTUM, STEP_LENGTH)

    beta1: BelowOne = 0.0  # FedAdam and FedYogi have 0.9
    eta_g: Positive = 0.1  # the paper tunes it
    tau: Positive = 1e-3
    v0: NonNegative | None = None  # v before round 0; null: τ²; public simulators take 0

    def server(self, w: Tensor, fed: Federation) -> State:
        """The momentum starts at m = 0, and v at `v0`."""
        return adaptive_state(w, self.v0, self.tau)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g m/(√v + τ) after D̄² was added to v."""
        return adaptive_step(d, r.state["v"] + d * d, r.state, (self.beta1, self.eta_g, self.tau))

    def cost(self, size: Sizes) -> Cost:
        """The server stores m and v; it computes D̄², the root and the quotient."""
        return Cost(server_memory=2 * size.d, ops_server=4, ops_maintain=2)
