"""Logistic regression: one linear layer on the inputs."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead


@dataclass(frozen=True)
class Logistic(Architecture):
    """inputs → classes: multinomial logistic regression, a convex problem.

    784 → 10 on MNIST (7,850 parameters), 60 → 10 on FedProx's synthetic data.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 60_000.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (60.0, 0.5)  # see plan/batches.py

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the inputs."""
        if inputs.vocabulary:
            raise FedbenchError(
                f"Logistic: samples of shape {inputs.shape} are token ids, not measurements; "
                "use 'distilbert'"
            )
        return BodyHead(nn.Flatten(), nn.Linear(math.prod(inputs.shape), inputs.outputs))
