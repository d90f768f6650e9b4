"""What every data source returns: four checked arrays and where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedbench.errors import FedbenchError


@dataclass(frozen=True)
class Dataset:
    """A training and a test set in memory.

    `x_*` are uint8 images (N, H, W[, channels]) in 0…255 or float features (N, …); `y_*` are
    labels (N,) int64 in 0…classes−1. `origin` says where the arrays came from (source, file,
    sha256). Raises `FedbenchError` if shapes, types, ranges or lengths do not fit.
    """

    name: str
    x_train: NDArray[np.uint8] | NDArray[np.float32]
    y_train: NDArray[np.int64]
    x_test: NDArray[np.uint8] | NDArray[np.float32]
    y_test: NDArray[np.int64]
    classes: int
    origin: Mapping[str, str] = field(default_factory=dict)
