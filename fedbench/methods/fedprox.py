"""FedProx: pulls local models towards the global model."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Turn


@dataclass(frozen=True)
class FedProx(Part):
    """Pull each local model towards the global one: g + μ (y − x_t).

    Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, equation 2.
    """

    mu: NonNegative = 0.01  # 0 is FedAvg
    # decay: μ y is added after clipping, as in the released code
    pull: Literal["gradient", "decay"] = "gradient"

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient of loss + (μ/2)‖y − x_t‖², or with 'decay' without μ y."""
        return inner(w) + self.mu * (w - t.w if self.pull == "gradient" else -t.w)

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """With 'decay', μ y is added where weight decay is."""
        return g + self.mu * w if self.pull == "decay" else g

    def cost(self, size: Sizes) -> Cost:
        """A difference and an addition per step."""
        return Cost(ops_step=2)
