"""Rotation: groups of clients see images turned by other angles."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.data.shift import Place, Shift
from fedbench.data.shifts.noise import refuse_without_images


@dataclass(frozen=True)
class Rotation(Shift):
    """Client i's images are turned counter-clockwise by (i mod angles) · 360°/angles.

    Ghosh et al., "An Efficient Framework for Clustered Federated Learning" (IFCA), NeurIPS 2020,
    rotated MNIST and CIFAR: 0, 90, 180 and 270 degrees, or with two angles 0 and 180.
    """

    angles: Literal[2, 4] = 4

    def require(self, data: Dataset) -> None:
        """Refuse anything but images, which for four angles must be square."""
        refuse_without_images(self, data)
        if self.angles == 4 and data.shape[1] != data.shape[2]:
            raise FedbenchError(f"shift: {self} needs square images; '{data.name}' has others")

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The images, turned."""
        quarters = place.client % self.angles * (4 // self.angles)
        return np.rot90(x, quarters, axes=(1, 2))
