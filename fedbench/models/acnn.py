"""The convolutional network of the FedADC paper."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from fedbench.base.checks import Count, Positive
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import at_side
from fedbench.models.layers import dense, global_mean, scaled, with_he_weights
from fedbench.models.pooling import MaxPool2

_CONVOLUTIONS, _HIDDEN = (64, 128, 256, 512), (128, 256, 512, 1024)


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
    MEGABYTES: ClassVar[tuple[float, float]] = (760.0, 10.0)  # see plan/asked.py

    top: Literal["hidden", "average"] = "hidden"
    width: Positive = 1.0
    side: Count | None = None
    init: Literal["pytorch", "he"] = "pytorch"

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the last hidden units, or the globally averaged channels."""
        model = self._plain(inputs)
        return with_he_weights(model) if self.init == "he" else model

    def _plain(self, inputs: Inputs) -> nn.Module:
        first, inputs = at_side("ACNN", inputs, self.side, least=16)
        layers: list[nn.Module] = [first]
        before = inputs.shape[0]
        for after in scaled(_CONVOLUTIONS, self.width):
            # ReLU after pooling gives the same bits and works on a quarter of the values
            layers += [nn.Conv2d(before, after, 3, padding=1), MaxPool2(), nn.ReLU()]
            before = after
        if self.top == "average":
            body = nn.Sequential(*layers, global_mean())
            return BodyHead(body, nn.Linear(before, inputs.classes))
        pixels = (inputs.shape[1] // 16) * (inputs.shape[2] // 16)
        widths = [before * pixels, *scaled(_HIDDEN, self.width)]
        body = nn.Sequential(*layers, nn.Flatten(), *dense(widths))
        return BodyHead(body, nn.Linear(widths[-1], inputs.classes))
