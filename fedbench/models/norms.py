"""Batch and group normalisation, by the number of channels; group and layer norm in arithmetic."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from fedbench.base.errors import FedbenchError

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


class WrittenOut(TorchFunctionMode):
    """A context in which group and layer norm are plain arithmetic, to be differentiated twice.

    For the derivative, in forward mode, of a gradient that is mapped over vectors, PyTorch has no
    formula of group norm, and of layer norm a wrong one: as if mean and variance did not move.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What `func` gives; in its place, of the two, what arithmetic does."""
        return _WRITTEN_OUT.get(func, func)(*args, **kwargs or {})


def _group_norm(
    x: Tensor, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    out = _standardised(x.reshape(len(x), groups, -1), 1, eps).reshape(x.shape)
    return _affine(out, weight, bias, (-1, *[1] * (x.ndim - 2)))


def _layer_norm(
    x: Tensor, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    return _affine(_standardised(x, len(shape), eps), weight, bias, tuple(shape))


_WRITTEN_OUT: dict[Any, Any] = {F.group_norm: _group_norm, F.layer_norm: _layer_norm}


def _standardised(x: Tensor, last: int, eps: float) -> Tensor:
    """The values with mean 0 and variance 1 over so many last dimensions."""
    over = tuple(range(-last, 0))
    x = x - x.mean(over, keepdim=True)
    return x * (x.square().mean(over, keepdim=True) + eps).rsqrt()


def _affine(x: Tensor, weight: Any, bias: Any, shape: tuple[int, ...]) -> Tensor:
    x = x if weight is None else x * weight.view(shape)
    return x if bias is None else x + bias.view(shape)
