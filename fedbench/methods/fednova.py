"""FedNova: clients do not get more weight for making more local steps."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import BelowOne
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class FedNova(Part):
    """Average directions, not distances: x_{t+1} = x_t − τ Σ p_i D_i/‖a_i‖₁, τ = Σ p_i ‖a_i‖₁.

    Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated
    Optimization", NeurIPS 2020, section 4. ‖a_i‖₁ follows from the local optimiser: H_i for plain
    SGD, (H_i − ρ (1 − ρ^H_i)/(1 − ρ))/(1 − ρ) with momentum ρ, others with dampening or Nesterov.
    Weight decay and FedProx's pull count as parts of the gradients. With equal H_i it is FedAvg.
    """

    numerics: ClassVar[dict[str, int]] = {"momentum": 4}  # ‖a_i‖₁ in place of H_i
    repeats: ClassVar[dict[str, str]] = {"rho": "momentum"}
    needs_sgd = "divides D_i by ‖a_i‖₁"

    rho: BelowOne | None = None  # null: the run's momentum; it can be no other

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """The update D_i τ/‖a_i‖₁."""
        a = r.effective_steps
        return (r.p @ a) / a[r.i] * delta

    def cost(self, size: Sizes) -> Cost:
        """One scaling per client at the server."""
        return Cost(ops_receive=1)
