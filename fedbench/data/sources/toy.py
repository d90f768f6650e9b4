"""Toy: points of a square in four classes, for pictures of decision regions."""

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source

_SIDE = 4.0  # the points lie in (−4, 4)²


@dataclass(frozen=True)
class Toy(Source):
    """Points (x1, x2) spread evenly over (−4, 4)², 4 classes (FedGKD paper, Fig. 5).

    The paper says: a "4-class classification task", "2-dim data points … randomly generalized in
    (-4,4)". It does not say how they are spread, which classes they have and how many they are:
    here they are uniform, the classes are the quadrants (0 where x1, x2 > 0, then
    counter-clockwise), and the numbers are those below. The points depend on `seed` alone, not on
    the seed of the run or on a library's version.
    """

    numerics: ClassVar[dict[str, int]] = {"mlp": 4}  # tiny networks train in step
    SAMPLES: ClassVar[tuple[int, int]] = (300, 1_000)  # by default
    SHAPE: ClassVar[tuple[int]] = (2,)  # features
    CLASSES: ClassVar[int] = 4

    train: Count = 300  # points
    test: Count = 1_000  # points
    seed: Natural = 0

    def samples(self) -> tuple[int, int]:
        """The numbers of training and test points."""
        return self.train, self.test

    def largest_class(self) -> int:
        """The test points of the fullest quadrant."""
        return int(np.bincount(self.load(Path()).y_test).max())

    def load(self, folder: Path) -> Dataset:
        """Draw the points; `folder` is not used."""
        rng = random.Random(self.seed)  # noqa: S311  # the same numbers in every version of Python
        (x, y), (x_test, y_test) = (_draw(n, rng) for n in (self.train, self.test))
        sha = hashlib.sha256(b"".join(a.tobytes() for a in (x, y, x_test, y_test))).hexdigest()
        origin = {"source": "made of random points", "sha256": sha}
        return Dataset("toy", x, y, x_test, y_test, classes=4, origin=origin)


def _draw(count: int, rng: random.Random) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    numbers = [_SIDE * (2 * rng.random() - 1) for _ in range(2 * count)]
    points = np.array(numbers, dtype=np.float32).reshape(count, 2)
    right, upper = (points > 0).T
    return points, np.where(upper, np.where(right, 0, 1), np.where(right, 3, 2))
