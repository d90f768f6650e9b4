"""Batch and group normalisation, as functions from the number of channels to a layer."""

from collections.abc import Callable
from typing import Literal

from torch import nn

from fedbench.base.errors import FedbenchError

Norm = Callable[[int], nn.Module]
Kind = Literal["gn", "bn"]


def by_groups(kind: Kind, groups: int) -> Norm:
    """Batch norm, or group norm with `groups` groups.

    The function raises `FedbenchError` if the groups cannot be of equal size.
    """

    def layer(channels: int) -> nn.Module:
        if channels % groups:
            raise FedbenchError(
                f"groups = {groups} cannot divide {channels} channels equally; choose a divisor"
            )
        return nn.GroupNorm(groups, channels)

    return nn.BatchNorm2d if kind == "bn" else layer


def by_size(kind: Kind, size: int) -> Norm:
    """Batch norm, or group norm with `size` channels per group: one group if there are fewer.

    The function raises `FedbenchError` if the groups cannot be of equal size.
    """

    def layer(channels: int) -> nn.Module:
        if channels > size and channels % size:
            raise FedbenchError(
                f"per_group = {size} cannot divide {channels} channels equally; choose a divisor"
            )
        return nn.GroupNorm(max(1, channels // size), channels)

    return nn.BatchNorm2d if kind == "bn" else layer
