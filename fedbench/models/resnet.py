"""The residual network of He et al. for small images, whose shortcuts have no parameters."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedbench.base.checks import Count, Layers, Positive
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import require_images
from fedbench.models.layers import global_mean
from fedbench.models.norms import Norm, by_groups


@dataclass(frozen=True)
class RN20(Architecture):
    """ResNet-20 (He et al. 2016, section 4.2): 3 blocks per stage of 16, 32, 64 channels, option A.

    `norm` is 'bn', batch norm (RMFL), or 'gn', group norm with `groups` groups (ASD). `width`
    scales the channels and `blocks` is the depth of a stage, for demonstrations; with 1 and 3,
    which are the paper's, it has 0.27 M parameters.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 300.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (480.0, 1.1)  # see plan/asked.py

    norm: Literal["bn", "gn"] = "gn"
    groups: Count = 2
    width: Positive = 1.0
    blocks: Layers = 3

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged channels of the last stage."""
        require_images("RN20", inputs)
        c = [max(self.groups, round(n * self.width)) for n in (16, 32, 64)]
        norm = by_groups(self.norm, self.groups)
        layers: list[nn.Module] = [
            nn.Conv2d(inputs.shape[0], c[0], 3, padding=1, bias=False),
            norm(c[0]),
            nn.ReLU(),
        ]
        for stage, (before, after) in enumerate(zip([c[0], *c], c, strict=False)):
            for block in range(self.blocks):
                first = block == 0
                stride = 2 if first and stage else 1
                layers.append(_Block(before if first else after, after, stride, norm))
        body = nn.Sequential(*layers, global_mean())
        return BodyHead(body, nn.Linear(c[-1], inputs.classes))


class _Block(nn.Module):
    """Two 3×3 convolutions, and a shortcut that subsamples and pads with zeros (option A)."""

    layerwise = True  # see `core/stacked`

    def __init__(self, before: int, after: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = norm(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = norm(after)
        self.short = _Shortcut(stride, after - before)

    def forward(self, x: Tensor) -> Tensor:
        out = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(out)) + self.short(x))


class _Shortcut(nn.Module):
    """Every `stride`-th pixel, and `extra` channels of zeros, half before and half after."""

    layerwise = True
    clients = 1  # whose channels lie side by side

    def __init__(self, stride: int, extra: int) -> None:
        super().__init__()
        self.stride, self.zeros = stride, (extra // 2, extra - extra // 2)

    def forward(self, x: Tensor) -> Tensor:
        short = x[:, :, :: self.stride, :: self.stride]
        if not any(self.zeros):
            return short
        each = short.reshape(len(x), self.clients, -1, *short.shape[2:])
        return F.pad(each, (0, 0, 0, 0, *self.zeros)).flatten(1, 2)
