"""FedNova: clients do not get more weight for making more local steps."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checked import BelowOne
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Round


@dataclass(frozen=True)
class FedNova(Part):
    """Average directions, not distances: x_{t+1} = x_t − τ Σ p_i D_i/‖a_i‖₁, τ = Σ p_i ‖a_i‖₁.

    Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated
    Optimization", NeurIPS 2020, section 4. ‖a_i‖₁ = H_i for plain local SGD, and
    (H_i − ρ (1 − ρ^H_i)/(1 − ρ))/(1 − ρ) with local momentum ρ. With equal H_i it is FedAvg.
    """

    rho: BelowOne = 0.0  # to be set to the local optimiser's momentum

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """The update D_i τ/‖a_i‖₁."""
        geometric = (1 - self.rho**r.steps) / (1 - self.rho)
        a = (r.steps - self.rho * geometric) / (1 - self.rho)
        return (r.p @ a) / a[r.i] * delta

    def cost(self, size: Sizes) -> Cost:
        """One scaling per client at the server."""
        return Cost(ops_receive=1)
