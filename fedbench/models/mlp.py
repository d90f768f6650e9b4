"""Fully connected layers: the multi-layer perceptron, and logistic regression, which has one."""

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
    MEGABYTES: ClassVar[tuple[float, float]] = (60.0, 0.5)  # see plan/train_jobs.py

    hidden: Count = 128
    depth: Layers = 1

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the last hidden units after ReLU."""
        widths = [_measurements("MLP", inputs), *[self.hidden] * self.depth]
        body = nn.Sequential(nn.Flatten(), *dense(widths))
        return BodyHead(body, nn.Linear(self.hidden, inputs.outputs))


@dataclass(frozen=True)
class Logistic(Architecture):
    """inputs → classes: multinomial logistic regression, a convex problem.

    784 → 10 on MNIST (7,850 parameters), 60 → 10 on FedProx's synthetic data.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 60_000.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (60.0, 0.5)  # see plan/train_jobs.py

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the inputs."""
        return BodyHead(nn.Flatten(), nn.Linear(_measurements("Logistic", inputs), inputs.outputs))


def _measurements(name: str, inputs: Inputs) -> int:
    if inputs.vocabulary:
        raise FedbenchError(f"{name}: samples are {inputs.words}, not numbers; use 'distilbert'")
    return math.prod(inputs.shape)
