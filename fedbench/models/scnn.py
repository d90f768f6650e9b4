"""The convolutional networks of the ASD paper, which FedDyn and its successors use too."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from fedbench.base.checks import Count, Positive
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import at_side
from fedbench.models.layers import dense, scaled
from fedbench.models.norms import by_groups
from fedbench.models.pooling import MaxPool2


@dataclass(frozen=True)
class SCNN(Architecture):
    """2 × (conv 64@5×5, ReLU, pool), 384, 192, classes.

    797,962 parameters on 32×32×3 with C=10, 815,332 with C=100. `width` scales channels and hidden
    units; `side` resizes images, whose side must be at least 16.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 800.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (580.0, 3.3)  # see plan/asked.py

    width: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 192 units before the classifier."""
        first, inputs = at_side("SCNN", inputs, self.side, least=16)
        channels, *hidden = scaled((64, 384, 192), self.width)
        left = [((side - 4) // 2 - 4) // 2 for side in inputs.shape[1:]]
        body = nn.Sequential(
            first,
            nn.Conv2d(inputs.shape[0], channels, 5),
            MaxPool2(),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 5),
            MaxPool2(),
            nn.ReLU(),
            nn.Flatten(),
            *dense([channels * left[0] * left[1], *hidden]),
        )
        return BodyHead(body, nn.Linear(hidden[-1], inputs.classes))


@dataclass(frozen=True)
class SCNNTiny(Architecture):
    """3 × (conv 64@3×3, group norm, ReLU, pool), 512, 384, classes.

    2,447,688 parameters on 64×64×3 with C=200. Each group norm has `groups` groups; `width` scales
    channels and hidden units; `side` resizes images, whose side must be at least 8.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 100.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (1850.0, 10.0)  # see plan/asked.py

    groups: Count = 4
    width: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 384 units before the classifier."""
        first, inputs = at_side("SCNNTiny", inputs, self.side, least=8)
        channels, *hidden = scaled((64, 512, 384), self.width)
        norm = by_groups("gn", self.groups)
        layers: list[nn.Module] = [first]
        for before in (inputs.shape[0], channels, channels):
            layers += [nn.Conv2d(before, channels, 3, padding=1), norm(channels)]
            layers += [MaxPool2(), nn.ReLU()]
        pixels = (inputs.shape[1] // 8) * (inputs.shape[2] // 8)
        body = nn.Sequential(*layers, nn.Flatten(), *dense([channels * pixels, *hidden]))
        return BodyHead(body, nn.Linear(hidden[-1], inputs.classes))
