"""Layers that several models share, and what models of images do first."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs

Norm = Callable[[int], nn.Module]
Kind = Literal["gn", "bn"]


def normalisation(kind: Kind, groups: int = 1, per_group: int | None = None) -> Norm:
    """Batch norm, or group norm: a function of the number of channels that gives the layer.

    A group norm has `groups` groups, or `per_group` channels per group if that is given: one group
    where there are fewer. The function raises `FedbenchError` if groups cannot be of equal size.
    """

    def layer(channels: int) -> nn.Module:
        count = max(1, channels // per_group) if per_group else groups
        if channels % (min(per_group, channels) if per_group else groups):
            given = f"per_group = {per_group}" if per_group else f"groups = {groups}"
            raise FedbenchError(
                f"{given} cannot divide {channels} channels equally; choose a divisor"
            )
        return nn.GroupNorm(count, channels)

    return nn.BatchNorm2d if kind == "bn" else layer


def global_mean() -> nn.Module:
    """The mean over all pixels: (B, C, H, W) → (B, C)."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def dense(widths: Sequence[int]) -> list[nn.Module]:
    """Linear layers from each width to the next, each followed by a ReLU."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return layers


def scaled(numbers: Iterable[int], by: float) -> list[int]:
    """The numbers of a paper's network times `by`, rounded, at least 1."""
    return [max(1, round(n * by)) for n in numbers]


def require_images(name: str, inputs: Inputs) -> None:
    """Raise `FedbenchError`, which names a model that fits, if the samples are not images."""
    if len(inputs.shape) != 3:
        other = "'distilbert'" if inputs.vocabulary else "an 'mlp'"
        raise FedbenchError(f"{name}: samples of shape {inputs.shape} are not images; use {other}")


def at_side(
    name: str, inputs: Inputs, side: int | None, least: int = 1
) -> tuple[nn.Module, Inputs]:
    """A layer that resizes images to `side` × `side`, and the shape of what comes out of it.

    Where `side` is None, images stay as they are. Raises `FedbenchError` if the samples are not
    images, or if their side is below `least`, at which the model's layers would leave no pixel.
    """
    require_images(name, inputs)
    channels, *sides = inputs.shape
    shape = (channels, *([side, side] if side else sides))
    if min(shape[1:]) < least:
        raise FedbenchError(
            f"{name}: images of side {min(shape[1:])} are too small for its layers; side = "
            f"{side or 'null'} must be at least {least}"
        )
    if shape == inputs.shape:
        return nn.Identity(), inputs
    return nn.Upsample(shape[1:], mode="bilinear"), inputs._replace(shape=shape)
