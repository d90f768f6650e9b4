"""2×2 max pooling on a CPU, alone and together with the convolution before it.

PyTorch's own is slow where the values of a channel lie side by side: it looks at them one by one.
With few values this is still quicker than the many operations that look at them at once.
"""

from itertools import pairwise
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Pair = tuple[Tensor, Tensor]
_FEW = 8  # output channels: a vector register holds twice as many numbers
_GREY_OR_COLOUR, _LEAST = (1, 3), 4  # channels and kernel size with the same order of sums
_MANY, _MANY_ALONE = 2**17, 2**18  # values to pool, with the convolution and alone


class MaxPool2(nn.MaxPool2d):
    """2×2 max pooling; the bits of PyTorch's, in a fraction of its time on a CPU."""

    layerwise = True  # see `core/stacked_network`

    def __init__(self) -> None:
        super().__init__(2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C, ⌊H/2⌋, ⌊W/2⌋)."""
        if not self.training:
            left, right = _columns(torch.maximum(*_rows(x)))
            return torch.maximum(left, right)
        many = x.is_contiguous() and _single(x) and x.numel() >= _MANY_ALONE
        pooled: Tensor = _MaxPool.apply(x)[0] if many else super().forward(x)
        return pooled


class Pooled(nn.Sequential):
    """Layers in a row; a narrow convolution of images and its pooling are computed at once.

    The four values of a pooling window become four channels of a convolution with stride 2, whose
    filters have a row and a column of zeros more. So the vector registers are full, and no value
    has to be moved to find the maxima. The sums are the same but for zeros that are added, and have
    the same bits wherever both convolutions add in the same order, as oneDNN does with AVX-512.
    """

    layerwise = True  # see `core/stacked_network`

    def forward(self, x: Tensor) -> Tensor:
        """What the layers give, one after the other."""
        pool = None
        for layer, after in pairwise([*self, None]):
            if layer is not pool:  # which was computed with the layer before it
                pool = after if isinstance(after, MaxPool2) else None
                if pool is None:
                    x = layer(x)
                elif _pays(layer, x):
                    x = conv_max_pool(x, layer.weight, layer.bias, layer.padding)
                else:
                    x = pool(layer(x))
        return x


def usual_pooling(module: nn.Module) -> nn.Module:
    """The module with PyTorch's max pooling, whose gradient is quick and as in training."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, MaxPool2):
                setattr(parent, name, nn.MaxPool2d(2))
    return module


def conv_max_pool(x: Tensor, w: Tensor, b: Tensor, padding: tuple[int, int]) -> Tensor:
    """2×2 max pooling of a convolution: x (B, I, H, W), w (O, I, k, k), b (O,) → (B, O, …)."""
    if torch.is_grad_enabled():
        pooled: Tensor = _ConvMaxPool.apply(x, w, b, padding)[0]
        return pooled
    upper, lower = _windows(x, w, b, padding)
    return torch.maximum(torch.maximum(*upper), torch.maximum(*lower))


def _single(x: Tensor) -> bool:
    """Whether x lies on a CPU in single precision, and stays so."""
    usual = x.device.type == "cpu" and x.dtype == torch.float32
    return usual and not torch.is_autocast_enabled("cpu")


def _pays(layer: Any, x: Tensor) -> bool:
    """Whether layer and pooling are faster at once, with the same bits, and no hook is left out."""
    if not (isinstance(layer, nn.Conv2d) and x.is_contiguous() and _single(x)):
        return False
    if layer._forward_hooks or layer._forward_pre_hooks:
        return False
    if torch.is_grad_enabled() and len(x) * layer.out_channels * prod(x.shape[2:]) < _MANY:
        return False
    plain = (layer.stride, layer.dilation, layer.groups) == ((1, 1), (1, 1), 1)
    padded = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    alike = layer.in_channels in _GREY_OR_COLOUR and min(layer.kernel_size) >= _LEAST
    return plain and padded and alike and layer.bias is not None and layer.out_channels <= _FEW


class _MaxPool(torch.autograd.Function):
    """Gives the maxima, and their places in the input as PyTorch counts them."""

    @staticmethod
    def forward(x: Tensor) -> Pair:
        upper, lower = _rows(x)
        left, right = _columns(torch.maximum(upper, lower))
        left_low, right_low = _columns(_less(upper, lower))
        found = torch.maximum(left, right)
        # Of equal values the first counts: the upper one, and of two in a row the left one.
        later = (left_low - right_low).clamp_(min=0).mul_(torch.eq(left, right))
        column = _less(left, right).add_(later)
        row = torch.lerp(left_low, right_low, column)
        return found, _places(row, column, *x.shape[2:])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Pair) -> None:
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.size = inputs[0].shape[2:]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return _back(grads[0], ctx.saved_tensors[0], ctx.size)


class _ConvMaxPool(torch.autograd.Function):
    """Gives the maxima, and their places in the convolution's output as PyTorch counts them."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, b: Tensor, padding: tuple[int, int]) -> Pair:
        above, below = _windows(x, w, b, padding)
        upper, lower = torch.maximum(*above), torch.maximum(*below)
        found, row = torch.maximum(upper, lower), _less(upper, lower)
        column = torch.lerp(_less(*above), _less(*below), row)
        return found, _places(row, column, *_size(x, w, padding))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Pair) -> None:
        x, w, _, ctx.padding = inputs
        ctx.save_for_backward(x, w, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        x, w, places = ctx.saved_tensors
        g = _back(grads[0], places, _size(x, w, ctx.padding))
        needed = [ctx.needs_input_grad[0], True, True]
        found = torch.ops.aten.convolution_backward(
            g, x, w, [len(w)], [1, 1], ctx.padding, [1, 1], False, [0, 0], 1, needed
        )
        return *found, None


def _windows(x: Tensor, w: Tensor, b: Tensor, padding: tuple[int, int]) -> tuple[Pair, Pair]:
    """The convolution's outputs in each window: upper left and right, lower left and right."""
    wide = [F.pad(w, (right, 1 - right, down, 1 - down)) for down in (0, 1) for right in (0, 1)]
    p, q, r, s = F.conv2d(x, torch.cat(wide), b.repeat(4), 2, padding).chunk(4, 1)
    return (p, q), (r, s)


def _rows(x: Tensor) -> Pair:
    x = x[..., : x.shape[-2] // 2 * 2, :]
    return x[..., ::2, :], x[..., 1::2, :]


def _columns(x: Tensor) -> Pair:
    x = x[..., : x.shape[-1] // 2 * 2]
    return x[..., ::2], x[..., 1::2]


def _less(a: Tensor, b: Tensor) -> Tensor:
    """1 where a < b, else 0; as numbers, which are faster than truth values."""
    return torch.lt(a, b, out=torch.empty_like(a))


def _places(row: Tensor, column: Tensor, height: int, width: int) -> Tensor:
    """The places in the input, from row and column in the window (0 or 1); exact up to 2²⁴."""
    rows = torch.arange(0, height - 1, 2).unsqueeze(1) * width
    first = (rows + torch.arange(0, width - 1, 2)).to(row.dtype)
    return torch.add(column, row, alpha=width).add_(first).long()


def _back(g: Tensor, places: Tensor, size: tuple[int, int]) -> Tensor:
    """Gradients of the maxima (B, C, h, w) at their places in (B, C, *size), 0 elsewhere."""
    like = g.new_empty(*g.shape[:2], *size)
    found: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
        g, like, [2, 2], [2, 2], [0, 0], [1, 1], False, places
    )
    return found


def _size(x: Tensor, w: Tensor, padding: tuple[int, int]) -> tuple[int, int]:
    height, width = (
        n + 2 * p - k + 1 for n, p, k in zip(x.shape[2:], padding, w.shape[2:], strict=True)
    )
    return height, width
