"""A method in one file: the name of the class, in lower case, is its name in YAML."""

from dataclasses import dataclass

from torch import Tensor

from fedbench import Part, Round
from fedbench.base.checks import Share


@dataclass(frozen=True)
class Shrink(Part):
    """Take a part of the global step: x_{t+1} = x_t − eta · d."""

    eta: Share = 0.5  # more than 0, at most 1; 1 is FedAvg

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The mean update d (old minus new), shortened."""
        return self.eta * d
