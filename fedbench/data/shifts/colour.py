"""Colour: each client's camera has gains of its own."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import NDArray

from fedbench.data.dataset import Dataset
from fedbench.data.shift import Place, Shift
from fedbench.data.shifts.noise import refuse_without_images


@dataclass(frozen=True)
class Colour(Shift):
    """Multiply each channel of a client's images by a gain ~ U(1 − strength, 1 + strength).

    The gains are drawn once per client, as of a camera (colour jitter, of which Hsieh et al., "The
    Non-IID Data Quagmire of Decentralized Machine Learning", ICML 2020, name the kind: feature
    skew by devices). Pixels of uint8 are cut off at 255. Grey images get another brightness.
    """

    strength: Annotated[float, Gt(0), Le(1)] = 0.5

    def require(self, data: Dataset) -> None:
        """Refuse anything but images."""
        refuse_without_images(self, data)

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The images with the client's gains."""
        channels = x.shape[3] if x.ndim == 4 else 1
        gains = place.rng.uniform(1 - self.strength, 1 + self.strength, channels)
        scaled = x * (gains if x.ndim == 4 else gains[0])
        return (
            np.rint(scaled).clip(0, 255).astype(x.dtype)
            if x.dtype == np.uint8
            else scaled.astype(x.dtype)
        )
