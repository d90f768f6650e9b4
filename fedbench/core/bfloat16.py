"""Computing in bfloat16, on processors with and without instructions for it."""

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


@contextlib.contextmanager
def autocast(device: torch.device) -> Iterator[None]:
    """PyTorch's autocast to bfloat16: products of numbers that are rounded to 8 bits."""
    # Without the cache: it would keep casts of weights that the next step replaces.
    halves = torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
    slow = device.type == "cpu" and not has_instructions()
    with halves, _ProductsInFloat32() if slow else contextlib.nullcontext():
        yield


@cache
def has_instructions() -> bool:
    """Whether the processor multiplies bfloat16, under the name that it has in its family."""
    return any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name)


# What autocast computes in bfloat16 and networks consist of. Attention is left to PyTorch, which
# rounds between its two products.
_PRODUCTS = {
    torch.conv1d, torch.conv2d, torch.conv3d, F.linear,
    torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm,
    Tensor.matmul, Tensor.mm, Tensor.bmm, Tensor.__matmul__,
}  # fmt: skip


class _ProductsInFloat32(TorchFunctionMode):
    """Rounds factors and results to bfloat16, and multiplies and sums in float32.

    Instructions for bfloat16 do the same, but for the order of a sum; without them PyTorch takes 12
    to 18 times as long as in float32.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func not in _PRODUCTS:
            return func(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            named = {name: _rounded(value) for name, value in kwargs.items()}
            return func(*map(_rounded, args), **named).to(torch.bfloat16)


def _rounded(value: Any) -> Any:
    """A tensor of floats as float32 numbers of bfloat16's 8 bits; anything else as it is."""
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.to(torch.bfloat16).float()
    return value
