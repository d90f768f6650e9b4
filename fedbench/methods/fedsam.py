"""FedSAM: sharpness-aware minimisation at the clients."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.ops import unit
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Turn


@dataclass(frozen=True)
class FedSAM(Part):
    """Take the gradient a step uphill, on the same batch: g(y + ρ g(y) / ‖g(y)‖).

    Qu et al., "Generalized Federated Learning via Sharpness Aware Minimization", ICML 2022;
    Caldarola, Caputo & Ciccone, ECCV 2022, whose ρ is the default. The step uphill contains no
    weight decay; the local step contains wd·y.
    """

    excludes: ClassVar = {"fedspeed": "FedSpeed takes a step uphill itself; set its rho"}

    rho: NonNegative = 0.1  # length of the step uphill, in model units; 0 is FedAvg

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient at the end of the step uphill."""
        return inner(w + self.rho * unit(inner(w)))

    def cost(self, size: Sizes) -> Cost:
        """Two forward and backward passes in place of one."""
        return Cost(forward=1, backward=1, ops_step=3)
