"""Layers that several models share, and what models of images do first."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs

Norm = Callable[[int], nn.Module]


def norms(kind: Literal["gn", "bn"], groups: int = 1, per_group: int | None = None) -> Norm:
    """Batch norm, or group norm of `groups` or of `per_group` channels each, for some channels."""

    def layer(channels: int) -> nn.Module:
        given = f"per_group = {per_group}" if per_group else f"groups = {groups}"
        divisor = min(per_group, channels) if per_group else groups
        if channels % divisor:
            raise FedbenchError(f"{given} cannot divide {channels} channels equally")
        return nn.GroupNorm(channels // divisor if per_group else groups, channels)

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
    """A layer that resizes images, which need a side of `least`, and the shape of its output."""
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
