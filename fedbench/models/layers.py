"""Layers that several models share."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from torch import nn


def global_mean() -> nn.Module:
    """The mean over all pixels: (B, C, H, W) → (B, C)."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def dense(widths: Sequence[int]) -> list[nn.Module]:
    """Linear layers from each width to the next, each followed by a ReLU."""
    pairs = [(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths)]
    return [layer for pair in pairs for layer in pair]


def scaled(numbers: Iterable[int], by: float) -> list[int]:
    """The numbers of a paper's network times `by`, rounded, at least 1."""
    return [max(1, round(n * by)) for n in numbers]
