"""What differs between clients: gains of cameras, wrong labels, noise, and angles."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import NDArray

from fedbench.base.checks import Fraction, Positive
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.data.shift import Place, Shift


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
        _refuse_without_images(self, data)

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The images with the client's gains."""
        channels = x.shape[3] if x.ndim == 4 else 1
        gains = place.rng.uniform(1 - self.strength, 1 + self.strength, channels)
        return _stored(x * (gains if x.ndim == 4 else gains[0]), x.dtype)


@dataclass(frozen=True)
class LabelNoise(Shift):
    """Client i gives a share ε_i ~ U(least, most) of its samples another label, drawn uniformly.

    Symmetric noise at a level per client, as Xu et al., "FedCorr: Multi-Stage Federated Learning
    for Label Noise Correction", CVPR 2022, have it at their noisy clients. Test labels are right.
    """

    least: Fraction = 0.0  # at most `most`
    most: Fraction = 0.4

    def require(self, data: Dataset) -> None:
        """Refuse data without two classes, and shares that do not fit."""
        if data.classes < 2:
            has = data.classes or "numbers"
            raise FedbenchError(f"shift: {self} needs two classes, but '{data.name}' has {has}")
        if self.least > self.most:
            raise FedbenchError(f"shift: {self}: least must be at most most")

    def labels(self, y: NDArray[Any], classes: int, place: Place) -> NDArray[Any]:
        """The labels, of which some are wrong."""
        share = place.rng.uniform(self.least, self.most)
        wrong = place.rng.random(len(y)) < share
        others = (y + place.rng.integers(1, classes, len(y))) % classes
        return np.where(wrong, others, y).astype(y.dtype)


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
        """Refuse token ids, which are no measurements, and what whole numbers round away."""
        if data.vocabulary:
            raise FedbenchError(f"shift: {self} changes numbers, but '{data.name}' holds token ids")
        if data.x_train.dtype == np.uint8 and len(data.shape) < 2 and self.level < 1:
            said = f"level = {self.level:g} is rounded away in the whole numbers of '{data.name}'"
            raise FedbenchError(f"shift: {self}: {said}; store its table as float32")

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The samples with noise of the client's level."""
        sigma = self.level * place.client / max(1, place.K - 1)
        unit = 255 if x.dtype == np.uint8 and x.ndim > 2 else 1
        return _stored(x + unit * sigma * place.rng.standard_normal(x.shape), x.dtype)


@dataclass(frozen=True)
class Rotation(Shift):
    """Client i's images are turned counter-clockwise by (i mod angles) · 360°/angles.

    Ghosh et al., "An Efficient Framework for Clustered Federated Learning" (IFCA), NeurIPS 2020,
    rotated MNIST and CIFAR: 0, 90, 180 and 270 degrees, or with two angles 0 and 180.
    """

    angles: Literal[2, 4] = 4

    def require(self, data: Dataset) -> None:
        """Refuse anything but images, which for four angles must be square."""
        _refuse_without_images(self, data)
        if self.angles == 4 and data.shape[1] != data.shape[2]:
            raise FedbenchError(f"shift: {self} needs square images; '{data.name}' has others")

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """The images, turned."""
        quarters = place.client % self.angles * (4 // self.angles)
        return np.rot90(x, quarters, axes=(1, 2))


def _stored(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values in the type of the data set; pixels of uint8 are rounded and cut off."""
    return (np.rint(values).clip(0, 255) if dtype == np.uint8 else values).astype(dtype)


def _refuse_without_images(shift: Shift, data: Dataset) -> None:
    if len(data.shape) != 3:
        raise FedbenchError(f"shift: {shift} is of images; '{data.name}' holds {data.inputs.words}")
