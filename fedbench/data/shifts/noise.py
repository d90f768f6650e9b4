"""Noise: some clients' features are noisier than others'."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Positive
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.data.shift import Place, Shift


@dataclass(frozen=True)
class Noise(Shift):
    """Add Gaussian noise whose standard deviation grows from 0 at the first client to `level`.

    Li et al., "Federated Learning on Non-IID Data Silos: An Experimental Study" (NIID-Bench), ICDE
    2022, have noise that grows with the client's number; here client i's is level·i/(K − 1), in
    units of pixel/255 for images of uint8, which stay whole numbers from 0 to 255, and of the
    numbers themselves for others.
    """

    level: Positive = 0.1

    def require(self, data: Dataset) -> None:
        """Refuse texts."""
        refuse_texts(self, data)

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The samples with noise of the client's level."""
        sigma = self.level * place.client / max(1, place.K - 1)
        if x.dtype != np.uint8:
            return (x + sigma * place.rng.standard_normal(x.shape)).astype(x.dtype)
        noisy = x + 255 * sigma * place.rng.standard_normal(x.shape)
        return np.rint(noisy).clip(0, 255).astype(np.uint8)


def refuse_texts(shift: Shift, data: Dataset) -> None:
    """Refuse token ids, which are no measurements."""
    if data.vocabulary:
        raise FedbenchError(f"shift: {shift} changes numbers, but '{data.name}' holds token ids")


def refuse_without_images(shift: Shift, data: Dataset) -> None:
    """Refuse anything but images."""
    if len(data.shape) != 3:
        raise FedbenchError(
            f"shift: {shift} changes images, but '{data.name}' holds {data.inputs.words}"
        )
