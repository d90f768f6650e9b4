"""From a data set's arrays to tensors on the device, and on to a network's input."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.scaling import moments, warn_unscaled
from fedbench.spec import RunSpec


def images(x: NDArray[np.generic], device: torch.device) -> Tensor:
    """Stored samples on the device, as stored; images become (N, channels, H, W)."""
    if x.ndim == 4:  # not copied where it is stored channels first
        x = x.transpose(0, 3, 1, 2)
    elif x.ndim == 3:
        x = x[:, np.newaxis]
    return torch.as_tensor(np.ascontiguousarray(x), device=device)


def targets(y: NDArray[np.generic], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Labels as integers, regression targets in the run's precision."""
    found = torch.as_tensor(y, device=device)
    return found.to(dtype) if found.is_floating_point() else found.long()


def preparation(
    data: Dataset,
    spec: RunSpec,
    rows: NDArray[np.int64],
    device: torch.device,
    dtype: torch.dtype,
) -> Callable[[Tensor], Tensor]:
    """How stored rows become the network's input: uint8 to 0…1, normalised if asked; ids stay.

    `rows` are those of the training data that are not held out.
    """
    floats = _floats(data, spec, rows, device, dtype)
    if not spec.channels_last:
        return floats
    if len(data.shape) != 3:
        raise FedbenchError(
            f"channels_last = True, but data set '{data.name}' has samples of shape {data.shape}, "
            "not (channels, height, width)"
        )
    return lambda x: floats(x).contiguous(memory_format=torch.channels_last)


def _floats(
    data: Dataset,
    spec: RunSpec,
    rows: NDArray[np.int64],
    device: torch.device,
    dtype: torch.dtype,
) -> Callable[[Tensor], Tensor]:
    if data.vocabulary and spec.normalise:
        raise FedbenchError(f"normalise = True, but data set '{data.name}' holds token ids")
    if data.vocabulary:
        return lambda x: x
    pixels = data.x_train.dtype == np.uint8
    if not spec.normalise:
        warn_unscaled(data, rows)
        return lambda x: x.to(dtype).div_(255) if pixels else x.to(dtype)
    known = data.normalisation if pixels and data.normalisation else moments(data, rows)
    mean, std = (
        torch.tensor(v, device=device, dtype=dtype).view(-1, *(1 for _ in data.shape[1:]))
        for v in known
    )
    if pixels:
        return lambda x: x.to(dtype).div_(255).sub_(mean).div_(std)
    return lambda x: (x.to(dtype) - mean) / std
