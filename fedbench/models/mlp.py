"""The multi-layer perceptron: fully connected layers with ReLU."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from fedbench.base.checks import Count, Layers
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.layers import dense


@dataclass(frozen=True)
class MLP(Architecture):
    """inputs → hidden → ReLU → classes (RMFL on MNIST: 784 → 128 → 10, 101,770 parameters).

    `depth` is the number of hidden layers, each of `hidden` units; FedGKD's toy problem has 2.
    """

    numerics: ClassVar[dict[str, int]] = {"hidden": 4}  # tiny networks train in step
    SAMPLES_PER_SECOND: ClassVar[float] = 30_000.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (60.0, 0.5)  # see plan/batches.py

    hidden: Count = 128
    depth: Layers = 1

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the last hidden units after ReLU."""
        if inputs.vocabulary:
            raise FedbenchError(
                f"MLP: samples of shape {inputs.shape} are token ids, not measurements; "
                "use 'distilbert'"
            )
        widths = [math.prod(inputs.shape), *[self.hidden] * self.depth]
        body = nn.Sequential(nn.Flatten(), *dense(widths))
        return BodyHead(body, nn.Linear(self.hidden, inputs.outputs))
