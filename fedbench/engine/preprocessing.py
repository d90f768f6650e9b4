"""Turns a data set's arrays into a network's inputs: normalised, cropped, flipped."""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Net
from fedbench.data import column_warnings
from fedbench.data.dataset import Dataset
from fedbench.spec import RunSpec


def images(x: NDArray[np.generic], device: torch.device) -> Tensor:
    """Samples on the device, in their stored type; images become (N, channels, H, W)."""
    if x.ndim == 4:  # a view; copied below, unless it was stored channels first
        x = x.transpose(0, 3, 1, 2)
    elif x.ndim == 3:
        x = x[:, np.newaxis]
    return torch.as_tensor(np.ascontiguousarray(x), device=device)


def targets(y: NDArray[np.generic], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Labels on the device: classes as integers, other labels in the run's precision."""
    labels = torch.as_tensor(y, device=device)
    return labels.to(dtype) if labels.is_floating_point() else labels.long()


def preparation(
    data: Dataset, spec: RunSpec, rows: NDArray[np.int64], device: torch.device, dtype: torch.dtype
) -> Callable[[Tensor], Tensor]:
    """The function that turns stored samples into the network's inputs.

    Pixels become 0…1, and values are normalised, if the spec says so, by the moments of `rows`.
    """
    if spec.augment and len(data.shape) != 3:
        raise FedbenchError(
            f"augment: data set '{data.name}' has samples of shape {data.shape}, no images"
        )
    if data.vocabulary:
        if spec.normalise:
            raise FedbenchError(f"normalise = True, but data set '{data.name}' holds token ids")
        return lambda x: x
    for found in column_warnings.index_columns(data) if column_warnings.is_table(data) else ():
        warnings.warn(f"data set '{data.name}': {found}", stacklevel=2)  # which tells the label
    pixels = data.pixels
    if not spec.normalise:
        warn_unscaled(data, rows)
        return lambda x: x.to(dtype).div_(255) if pixels else x.to(dtype)
    statistics = data.normalisation if pixels and data.normalisation else moments(data, rows)
    mean, std = (
        torch.tensor(v, device=device, dtype=dtype).view(-1, *(1 for _ in data.shape[1:]))
        for v in statistics
    )
    if pixels:
        return lambda x: x.to(dtype).div_(255).sub_(mean).div_(std)
    return lambda x: (x.to(dtype) - mean) / std


def laid_out(prepare: Callable[[Tensor], Tensor], net: Net) -> Callable[[Tensor], Tensor]:
    """The same, with images in the memory layout in which the network is fastest."""
    if net.channels < 16 or net.precision == torch.float64:
        return prepare

    def prepared(x: Tensor) -> Tensor:
        x = prepare(x)
        return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x

    return prepared


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


_CHUNK = 4096  # rows that are turned into floats at a time
_LARGE = 10.0  # a larger column dominates the others
_ROUNDING = 1e-9  # a deviation below this share of the mean counts as none
_LOOKED = 256  # images in which the brightest pixel is sought: files may be larger than memory
_DARK = 32  # pixels of real images are brighter; those of digits go up to 16 before they are scaled


def moments(data: Dataset, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Mean and deviation (of the population; 1 for 0) per channel or column of these rows."""
    images = len(data.shape) == 3
    axes = (0, 1, 2) if images else (0,)
    values = len(rows) * (data.shape[1] * data.shape[2] if images else 1)
    mean = sum(piece.sum(axes) for piece in _pieces(data, rows)) / values
    squares = sum(((piece - mean) ** 2).sum(axes) for piece in _pieces(data, rows))
    std = np.sqrt(squares / values)
    varies = std > _ROUNDING * np.abs(mean)
    return np.atleast_1d(mean), np.atleast_1d(np.where(varies, std, 1.0))


def _pieces(data: Dataset, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    unit = 255.0 if data.pixels else 1.0
    for first in range(0, len(rows), _CHUNK):
        yield data.x_train[rows[first : first + _CHUNK]].astype(np.float64) / unit


def warn_unscaled(data: Dataset, rows: NDArray[np.int64]) -> None:
    """Warn of values so large, or of pixels so dark, that training may learn nothing from them."""
    found = ""
    if not data.pixels:
        large = np.flatnonzero(np.maximum(*(np.abs(each) for each in moments(data, rows))) > _LARGE)
        if len(large):
            kind = "column" if len(data.shape) == 1 else "channel"
            named = column_warnings.chosen(data, large.tolist(), kind)
            found = f"{named} have a mean or standard deviation above {_LARGE:g}"
    elif (brightest := int(data.x_train[rows[:_LOOKED]].max())) < _DARK:  # as images of 0 and 1
        found = f"uint8 pixels are divided by 255, but the largest that was found is {brightest}"
    if found:
        warnings.warn(
            f"data set '{data.name}': {found}, so that training may learn nothing; set "
            "normalise: true",
            stacklevel=2,
        )
