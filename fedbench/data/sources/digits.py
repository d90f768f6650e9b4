"""Digits: 1,797 tiny images that come with scikit-learn, so no file and no network is needed."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.data.dataset import Dataset
from fedbench.data.source import Source


@dataclass(frozen=True)
class Digits(Source):
    """Handwritten digits, 8×8 grey, 10 classes (Alpaydin & Kaynak, UCI 1998); 1,442 + 355 images.

    The grey levels 0…16 are scaled to 0…255. Every fifth image of each class is a test image, so
    the split is the same for every run, seed and library version.
    """

    numerics: ClassVar[dict[str, int]] = {"mlp": 4}  # tiny networks train in step
    SAMPLES: ClassVar[tuple[int, int]] = (1_442, 355)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (1, 8, 8)  # channels, height, width
    CLASSES: ClassVar[int] = 10
    LARGEST: ClassVar[int] = 36  # test samples of the largest class

    def load(self, folder: Path) -> Dataset:
        """Read the images that come with scikit-learn; `folder` is not used."""
        x, y, version = _images()
        test = _every_fifth(y)
        origin = {
            "source": f"scikit-learn {version} load_digits",
            "sha256": hashlib.sha256(x.tobytes() + y.tobytes()).hexdigest(),
        }
        return Dataset("digits", x[~test], y[~test], x[test], y[test], classes=10, origin=origin)


@cache
def _images() -> tuple[NDArray[np.uint8], NDArray[np.int64], str]:
    """All images and labels, from the table that `sklearn.datasets.load_digits` reads; its version.

    Importing scikit-learn takes longer than training on these images for several rounds. Reading
    the table takes as long as a short run, so a process that has many of them does it once.
    """
    distribution = metadata.distribution("scikit-learn")
    file = distribution.locate_file("sklearn/datasets/data/digits.csv.gz")
    table = np.loadtxt(str(file), delimiter=",")
    x = np.rint(table[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return x, table[:, -1].astype(np.int64), distribution.version


def _every_fifth(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the fifth, tenth, … sample of each class."""
    chosen = np.zeros(len(labels), dtype=bool)
    for c in np.unique(labels):
        chosen[np.flatnonzero(labels == c)[4::5]] = True
    return chosen
