"""Mean and standard deviation of what a network is fed with, from the training rows."""

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbench.data.dataset import Dataset

_CHUNK = 4096  # rows that are turned into floats at a time
_LARGE = 10.0  # beyond it a column drowns the others
_ROUNDING = 1e-9  # a deviation that is smaller against the mean is no variation
_SHOWN = 5  # columns that a warning names


def moments(data: Dataset, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Mean and standard deviation (population) of each channel or column over training rows.

    Pixels stored as uint8 are counted in units of 1/255; what never varies has the deviation 1.
    """
    images = len(data.shape) == 3
    axes = (0, 1, 2) if images else (0,)
    values = len(rows) * (data.shape[1] * data.shape[2] if images else 1)
    mean = sum(piece.sum(axes) for piece in _pieces(data, rows)) / values
    squares = sum(((piece - mean) ** 2).sum(axes) for piece in _pieces(data, rows))
    std = np.sqrt(squares / values)
    varies = std > _ROUNDING * np.abs(mean)
    return np.atleast_1d(mean), np.atleast_1d(np.where(varies, std, 1.0))


def _pieces(data: Dataset, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    unit = 255.0 if data.x_train.dtype == np.uint8 else 1.0
    for first in range(0, len(rows), _CHUNK):
        yield data.x_train[rows[first : first + _CHUNK]].astype(np.float64) / unit


def warn_unscaled(data: Dataset, rows: NDArray[np.int64]) -> None:
    """Say which columns of a table are so large that training may learn nothing from the others."""
    if len(data.shape) != 1 or data.vocabulary:
        return
    large = np.flatnonzero(np.maximum(*(np.abs(found) for found in moments(data, rows))) > _LARGE)
    if not len(large):
        return
    known = data.columns or tuple(f"column {i}" for i in range(1, data.shape[0] + 1))
    more = f" and {len(large) - _SHOWN} more" if len(large) > _SHOWN else ""
    warnings.warn(
        f"data set '{data.name}': {', '.join(known[i] for i in large[:_SHOWN])}{more} of "
        f"{len(known)} columns have a mean or standard deviation above {_LARGE:g}, so that "
        "training may learn nothing; set normalise: true",
        stacklevel=2,
    )
