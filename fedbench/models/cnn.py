"""Convolutional networks without shortcuts: LeNet-5, McMahan's CNN, S-CNN and A-CNN."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from fedbench.base.checks import Count, Natural, Positive
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead, draw_he_weights
from fedbench.models.fast_pooling import MaxPool2, Pooled
from fedbench.models.layers import Norm, at_side, dense, global_mean, norms, require_images, scaled


def convolutions(
    inputs: Inputs, to: Iterable[int], size: int, padding: int = 0, norm: Norm | None = None
) -> tuple[list[nn.Module], int]:
    """Convolutions, each followed by the norm, if any, 2×2 pooling and ReLU; and their outputs."""
    layers: list[nn.Module] = []
    channels, *sides = inputs.shape
    for after in to:
        layers.append(nn.Conv2d(channels, after, size, padding=padding))
        if norm:
            layers.append(norm(after))
        layers += [MaxPool2(), nn.ReLU()]  # the same bits as ReLU first, of fewer values
        channels, sides = after, [(side + 2 * padding - size + 1) // 2 for side in sides]
    return layers, channels * math.prod(sides)


@dataclass(frozen=True)
class LeNet5(Architecture):
    """conv 6@5×5, pool, conv 16@5×5, pool, 120, 84, classes (62,006 parameters on 32×32×3, C=10).

    `width` scales channels and hidden units (1 is the papers' model); both convolutions pad images
    by `padding` pixels, so that images smaller than 32×32 leave something to pool.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 11_000.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (200.0, 0.3)  # see plan/train_jobs.py

    width: Positive = 1.0
    padding: Natural = 0

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 84 units before the classifier."""
        require_images("LeNet5", inputs)
        c1, c2, *hidden = scaled((6, 16, 120, 84), self.width)
        layers, units = convolutions(inputs, (c1, c2), 5, self.padding)
        side = min(inputs.shape[1:])
        if side < 16 - 6 * self.padding:  # of which the layers would leave no pixel
            raise FedbenchError(
                f"LeNet5: images of side {side} are too small for its layers; padding = "
                f"{self.padding} must be larger"
            )
        body = Pooled(*layers, nn.Flatten(), *dense([units, *hidden]))
        return BodyHead(body, nn.Linear(hidden[-1], inputs.outputs))


@dataclass(frozen=True)
class FedAvgCNN(Architecture):
    """2 × (conv 5×5, ReLU, pool) of 32 and 64 channels, padded; 512, classes.

    The CNN of McMahan et al. (AISTATS 2017, Section 3): 1,663,370 parameters on 28×28×1 with C=10.
    `width` scales channels and hidden units; `side` resizes images, whose side must be at least 4.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 550.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (560.0, 6.6)  # see plan/train_jobs.py

    width: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 512 units before the classifier."""
        first, inputs = at_side("FedAvgCNN", inputs, self.side, least=4)
        c1, c2, hidden = scaled((32, 64, 512), self.width)
        layers, units = convolutions(inputs, (c1, c2), 5, padding=2)
        body = nn.Sequential(first, *layers, nn.Flatten(), *dense([units, hidden]))
        return BodyHead(body, nn.Linear(hidden, inputs.outputs))


@dataclass(frozen=True)
class SCNN(Architecture):
    """2 × (conv 64@5×5, ReLU, pool), 384, 192, classes.

    797,962 parameters on 32×32×3 with C=10, 815,332 with C=100. `width` scales channels and hidden
    units; `side` resizes images, whose side must be at least 16.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 800.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (580.0, 3.3)  # see plan/train_jobs.py

    width: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 192 units before the classifier."""
        first, inputs = at_side("SCNN", inputs, self.side, least=16)
        channels, *hidden = scaled((64, 384, 192), self.width)
        layers, units = convolutions(inputs, (channels, channels), 5)
        body = nn.Sequential(first, *layers, nn.Flatten(), *dense([units, *hidden]))
        return BodyHead(body, nn.Linear(hidden[-1], inputs.outputs))


@dataclass(frozen=True)
class SCNNTiny(Architecture):
    """3 × (conv 64@3×3, group norm, ReLU, pool), 512, 384, classes.

    2,447,688 parameters on 64×64×3 with C=200. Each group norm has `groups` groups; `width` scales
    channels and hidden units; `side` resizes images, whose side must be at least 8.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 100.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (1850.0, 10.0)  # see plan/train_jobs.py

    groups: Count = 4
    width: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 384 units before the classifier."""
        first, inputs = at_side("SCNNTiny", inputs, self.side, least=8)
        channels, *hidden = scaled((64, 512, 384), self.width)
        norm = norms("gn", self.groups)
        layers, units = convolutions(inputs, [channels] * 3, 3, padding=1, norm=norm)
        body = nn.Sequential(first, *layers, nn.Flatten(), *dense([units, *hidden]))
        return BodyHead(body, nn.Linear(hidden[-1], inputs.outputs))


@dataclass(frozen=True)
class ACNN(Architecture):
    """4 × (conv 3×3, ReLU, pool) of 64 to 512 channels; 128, 256, 512, 1024, classes.

    2,513,418 parameters on 32×32×3 with C=10. With `top` 'average', global average pooling replaces
    the hidden layers; with the run's `projection: 256` that is the network of MOON in the FedADC
    paper. `width` scales channels and hidden units; `side` resizes images, whose side must be at
    least 16. `init`: the first weights, those of PyTorch's layers or He's normal ones without bias
    (He et al., ICCV 2015), with which a network this deep and without normalisation leaves guessing
    far sooner.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 250.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (760.0, 10.0)  # see plan/train_jobs.py

    top: Literal["hidden", "average"] = "hidden"
    width: Positive = 1.0
    side: Count | None = None
    init: Literal["pytorch", "he"] = "pytorch"

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the last hidden units, or the globally averaged channels."""
        first, inputs = at_side("ACNN", inputs, self.side, least=16)
        channels = scaled((64, 128, 256, 512), self.width)
        layers, units = convolutions(inputs, channels, 3, padding=1)
        widths = [units, *scaled((128, 256, 512, 1024), self.width)]
        if self.top == "average":
            layers, widths = [*layers, global_mean()], channels
        else:
            layers += [nn.Flatten(), *dense(widths)]
        model = BodyHead(nn.Sequential(first, *layers), nn.Linear(widths[-1], inputs.outputs))
        if self.init == "he":
            draw_he_weights(model)
        return model
