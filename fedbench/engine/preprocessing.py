"""Turns a data set's arrays into a network's inputs: normalised, cropped, flipped."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fedbench.core.flat_network import Net
from fedbench.data.columns_and_channels import Scales
from fedbench.data.dataset import Dataset


def samples(
    x: NDArray[np.generic], y: NDArray[np.generic], device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Stored samples on the device, images as (N, C, H, W), and labels: integers or in `dtype`."""
    if x.ndim == 4:  # a view; copied below, unless it was stored channels first
        x = x.transpose(0, 3, 1, 2)
    elif x.ndim == 3:
        x = x[:, np.newaxis]
    labels = torch.as_tensor(np.ascontiguousarray(y), device=device)
    kind = dtype if labels.is_floating_point() else torch.long
    return torch.as_tensor(np.ascontiguousarray(x), device=device), labels.to(kind)


def preparation(data: Dataset, scales: Scales | None, net: Net) -> Callable[[Tensor], Tensor]:
    """The function from stored samples to inputs: pixels are 0…1, normalised by `scales`."""
    prepare = _scaled(data, scales, net.start().w)
    if net.channels < 16 or net.precision == torch.float64:
        return prepare

    def prepared(x: Tensor) -> Tensor:
        x = prepare(x)
        return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x

    return prepared


def _scaled(data: Dataset, scales: Scales | None, like: Tensor) -> Callable[[Tensor], Tensor]:
    dtype, pixels = like.dtype, data.pixels
    if data.vocabulary:
        return lambda x: x
    if scales is None:
        return lambda x: x.to(dtype).div_(255) if pixels else x.to(dtype)
    mean, std = (
        torch.tensor(v, device=like.device, dtype=dtype).view(-1, *(1 for _ in data.shape[1:]))
        for v in scales
    )
    if pixels:
        return lambda x: x.to(dtype).div_(255).sub_(mean).div_(std)
    return lambda x: (x.to(dtype) - mean) / std


def augmented(x: Tensor, view: Tensor, pad: int) -> Tensor:
    """Images (B, C, H, W), cropped and flipped by `view` (B, 3); outside an image is 0 (black)."""
    B, C, H, W = x.shape
    down, right, flipped = view.unsqueeze(2).unbind(1)  # (B, 1) each
    rows = torch.arange(H, device=x.device) + down
    columns = torch.arange(W, device=x.device)
    columns = torch.where(flipped == 1, W - 1 - columns, columns) + right
    places = (rows.unsqueeze(2) * (W + 2 * pad) + columns.unsqueeze(1)).view(B, 1, H * W)
    padded = F.pad(x, (pad, pad, pad, pad)).flatten(2)
    return padded.gather(2, places.expand(B, C, H * W)).view(B, C, H, W)
