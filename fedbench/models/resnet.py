"""Residual networks: He et al.'s for small images, and those of torchvision's blocks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional as F
from torchvision.models.resnet import BasicBlock, Bottleneck, conv1x1

from fedbench.base.checks import Count, Layers, Positive
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead, draw_he_weights
from fedbench.models.layers import Norm, at_side, global_mean, norms, require_images, scaled


@dataclass(frozen=True)
class RN20(Architecture):
    """ResNet-20 (He et al. 2016, section 4.2): 3 blocks per stage of 16, 32, 64 channels, option A.

    `norm` is 'bn', batch norm (RMFL), or 'gn', group norm with `groups` groups (ASD). `width`
    scales the channels and `blocks` is the depth of a stage, for demonstrations; with 1 and 3,
    which are the paper's, it has 0.27 M parameters.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 300.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (480.0, 1.1)  # see plan/train_jobs.py

    norm: Literal["bn", "gn"] = "gn"
    groups: Count = 2
    width: Positive = 1.0
    blocks: Layers = 3

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged channels of the last stage."""
        require_images("RN20", inputs)
        c = [max(self.groups, round(n * self.width)) for n in (16, 32, 64)]
        norm = norms(self.norm, self.groups)
        stem = nn.Conv2d(inputs.shape[0], c[0], 3, padding=1, bias=False)
        stages = _stages(BasicBlock, norm, c, [self.blocks] * 3, _Shortcut)
        body = nn.Sequential(stem, norm(c[0]), nn.ReLU(), *stages, global_mean())
        return BodyHead(body, nn.Linear(c[-1], inputs.outputs))


class _Shortcut(nn.Module):
    """Option A: each `stride`-th pixel, and more channels of zeros, half before and half after."""

    layerwise = True  # see `core/stacked_network`
    clients = 1  # whose channels lie side by side

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        more = after - before
        self.stride, self.zeros = stride, (more // 2, more - more // 2)

    def forward(self, x: Tensor) -> Tensor:
        short = x[:, :, :: self.stride, :: self.stride]
        each = short.reshape(len(x), self.clients, -1, *short.shape[2:])
        return F.pad(each, (0, 0, 0, 0, *self.zeros)).flatten(1, 2)


@dataclass(frozen=True)
class RN8(Architecture):
    """ResNet-8 (FedGKD on CIFAR): 3×3 stem of 16 channels, one block per stage of 16, 32, 64.

    78,042 parameters on 3 channels with C=10. With `norm` 'gn', a group has `per_group` channels,
    or all where there are fewer; 'bn' is batch norm. `width` scales the channels, `blocks` is the
    depth of a stage, `side` resizes images.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 800.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (310.0, 0.4)  # see plan/train_jobs.py

    norm: Literal["gn", "bn"] = "gn"
    per_group: Count = 16
    width: Positive = 1.0
    blocks: Layers = 1
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged channels of the last stage (64)."""
        return _network(self, inputs, BasicBlock, (16, 32, 64), [self.blocks] * 3)


@dataclass(frozen=True)
class RN18(Architecture):
    """ResNet-18 (FedADC on CIFAR-100; FedDPC with `stem` 'imagenet'): 64 to 512 channels.

    11,220,132 parameters with C=100 (11,227,812 with `stem` 'imagenet', which is torchvision's).
    `norm` 'gn' has `groups` groups, or `per_group` channels per group if that is given; `width`
    scales the channels, `blocks` is the depth of a stage, `side` resizes images.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 25.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (1650.0, 45.0)  # see plan/train_jobs.py

    stem: Literal["cifar", "imagenet"] = "cifar"  # 3×3, or 7×7 with stride 2 and pooling
    norm: Literal["gn", "bn"] = "gn"
    groups: Count = 32
    per_group: Count | None = None
    width: Positive = 1.0
    blocks: Layers = 2
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged channels of the last stage (512)."""
        return _network(self, inputs, BasicBlock, (64, 128, 256, 512), [self.blocks] * 4)


@dataclass(frozen=True)
class RN50(Architecture):
    """ResNet-50 (FedGKD on Tiny-ImageNet) with a 3×3 stem and no pooling after it.

    23,910,152 parameters with C=200. `norm` 'gn' has `per_group` channels per group, or all where
    there are fewer; MOON and FedGKD+ use 'bn'. `width` scales the channels and `depth` the
    3, 4, 6, 3 blocks of the stages; `side` resizes images.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 2.2  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (7400.0, 100.0)  # see plan/train_jobs.py

    norm: Literal["gn", "bn"] = "gn"
    per_group: Count = 16
    width: Positive = 1.0
    depth: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged channels of the last stage (2048)."""
        blocks = scaled((3, 4, 6, 3), self.depth)
        return _network(self, inputs, Bottleneck, (64, 128, 256, 512), blocks)


def _network(
    model: RN8 | RN18 | RN50, inputs: Inputs, kind: Any, widths: Sequence[int], blocks: list[int]
) -> BodyHead:
    """Stem, stages of these widths, times the model's, and blocks, global mean and classifier."""
    first, inputs = at_side(type(model).__name__, inputs, model.side)
    planes = scaled(widths, model.width)
    norm = norms(model.norm, getattr(model, "groups", 1), model.per_group)
    large = isinstance(model, RN18) and model.stem == "imagenet"
    size, stride, padding = (7, 2, 3) if large else (3, 1, 1)
    conv = nn.Conv2d(inputs.shape[0], planes[0], size, stride, padding, bias=False)
    layers: list[nn.Module] = [first, conv, norm(planes[0]), nn.ReLU(inplace=True)]
    if large:
        layers.append(nn.MaxPool2d(3, stride=2, padding=1))

    def shortcut(before: int, after: int, stride: int) -> nn.Module:
        return nn.Sequential(conv1x1(before, after, stride), norm(after))

    body = nn.Sequential(*layers, *_stages(kind, norm, planes, blocks, shortcut), global_mean())
    draw_he_weights(body)
    return BodyHead(body, nn.Linear(planes[-1] * kind.expansion, inputs.outputs))


def _stages(
    kind: Any, norm: Norm, planes: list[int], blocks: list[int], shortcut: Callable[..., nn.Module]
) -> Iterator[nn.Module]:
    """The blocks of each stage; those whose shortcut is not the identity get one."""
    before = planes[0]
    for stage, (width, count) in enumerate(zip(planes, blocks, strict=True)):
        for number in range(count):
            stride, after = 2 if stage and not number else 1, width * kind.expansion
            short = shortcut(before, after, stride) if stride > 1 or before != after else None
            block: Any = kind(before, width, stride, short, norm_layer=norm)
            block.layerwise = True  # it adds, and calls its layers; see `core/stacked_network`
            yield block
            before = after
