"""Digits, and pairs of them: tiny images that need no file and no network."""

import hashlib
import random
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from fedbench.data.dataset import Dataset
from fedbench.data.source import Source

_BORDER = ((0, 0), (4, 4), (0, 0))  # makes 8×16 a square, which every image model accepts


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
        test = np.zeros(len(y), dtype=bool)
        for c in range(10):
            test[np.flatnonzero(y == c)[4::5]] = True
        origin = {
            "source": f"scikit-learn {version} load_digits",
            "sha256": hashlib.sha256(x.tobytes() + y.tobytes()).hexdigest(),
        }
        return Dataset("digits", x[~test], y[~test], x[test], y[test], classes=10, origin=origin)


@cache
def _images() -> tuple[NDArray[np.uint8], NDArray[np.int64], str]:
    """All images and labels, and the version of scikit-learn, which is slow to import."""
    distribution = metadata.distribution("scikit-learn")
    file = distribution.locate_file("sklearn/datasets/data/digits.csv.gz")
    table = np.loadtxt(str(file), delimiter=",")
    x = np.rint(table[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return x, table[:, -1].astype(np.int64), distribution.version


@dataclass(frozen=True)
class DigitPairs(Source):
    """A substitute for image sets of many classes: two digits side by side, 16×16 grey.

    Class 10·l + r shows scikit-learn's digits l and r, with four dark rows above and below; with
    fewer than 100 classes only the first ones are there.
    Training pairs consist of training images of `digits`, test pairs of its test images; no pair
    occurs twice. The pairs are the same for every run, seed and library version.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (6_000, 2_000)  # by default
    numerics: ClassVar[dict[str, int]] = {"mlp": 4}  # tiny networks train in step
    SHAPE: ClassVar[tuple[int, int, int]] = (1, 16, 16)  # channels, height, width
    CLASSES: ClassVar[int] = 100  # by default

    train: Annotated[int, Ge(1), Le(5_000)] = 60  # training pairs per class
    test: Annotated[int, Ge(1), Le(500)] = 20  # test pairs per class
    classes: Annotated[int, Ge(2), Le(100)] = 100

    def samples(self) -> tuple[int, int]:
        """The numbers of training and test pairs of all classes."""
        return self.train * self.classes, self.test * self.classes

    def largest_class(self) -> int:
        """All classes have as many test samples."""
        return self.test

    def load(self, folder: Path) -> Dataset:
        """Pair the images that come with scikit-learn; `folder` is not used."""
        digits, rng = Digits().load(folder), random.Random(0)  # noqa: S311  # the same numbers in every version of Python
        x, y = _paired(digits.x_train, digits.y_train, self.train, self.classes, rng)
        x_test, y_test = _paired(digits.x_test, digits.y_test, self.test, self.classes, rng)
        origin = {
            "source": f"substitute: pairs of {digits.origin['source']}",
            "sha256": hashlib.sha256(x.tobytes() + x_test.tobytes()).hexdigest(),
        }
        return Dataset("digitpairs", x, y, x_test, y_test, classes=self.classes, origin=origin)


def _paired(
    x: NDArray[np.generic], y: NDArray[np.generic], count: int, classes: int, rng: random.Random
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    rows = [np.flatnonzero(y == digit) for digit in range(10)]
    drawn = [_draw(rows[c // 10], rows[c % 10], count, rng) for c in range(classes)]
    left, right = np.concatenate(drawn).T
    images = np.pad(np.concatenate([x[left], x[right]], axis=2), _BORDER)
    return images.astype(np.uint8, copy=False), np.repeat(np.arange(classes), count)


def _draw(
    left: NDArray[np.int64], right: NDArray[np.int64], count: int, rng: random.Random
) -> list[tuple[int, int]]:
    """`count` different pairs of a left and a right row."""
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < count:
        pair = int(rng.random() * len(left)), int(rng.random() * len(right))
        pairs[int(left[pair[0]]), int(right[pair[1]])] = None
    return list(pairs)
