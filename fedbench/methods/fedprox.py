"""FedProx: a pull towards the global model."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.checked import NonNegative
from fedbench.part import Gradient, Part, Turn


@dataclass(frozen=True)
class FedProx(Part):
    """Pull each local model towards the global one: g + μ (y − x_t).

    Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, equation 2.
    """

    mu: NonNegative = 0.01  # 0 is FedAvg

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient of loss + (μ/2)‖y − x_t‖²."""
        return inner(w) + self.mu * (w - t.w)
