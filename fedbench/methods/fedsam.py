"""FedSAM: sharpness-aware local steps."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checked import NonNegative
from fedbench.core.ops import unit
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Gradient, Turn


@dataclass(frozen=True)
class FedSAM(Part):
    """Take the gradient uphill, on the same batch: g(y + ρ g(y) / ‖g(y)‖).

    Qu et al., "Generalized Federated Learning via Sharpness Aware Minimization", ICML 2022;
    Caldarola, Caputo & Ciccone, ECCV 2022, whose ρ is the default. The ascent knows no weight
    decay; the step has wd·y.
    """

    excludes: ClassVar[dict[str, str]] = {"fedspeed": "it goes uphill itself; set its rho"}

    rho: NonNegative = 0.1  # radius of the ascent, in model units; 0 is FedAvg

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The second of two gradients."""
        return inner(w + self.rho * unit(inner(w)))

    def cost(self, size: Sizes) -> Cost:
        """Two passes each way in place of one."""
        return Cost(forward=1, backward=1, ops_step=3)
