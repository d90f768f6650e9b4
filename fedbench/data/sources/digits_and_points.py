"""Digits and pairs of them, random points and a toy: small sets without a file or a network."""

import hashlib
import random
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le, Lt
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural, NonNegative
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
    SAMPLES = (1_442, 355)
    SHAPE = (1, 8, 8)
    CLASSES = 10
    LARGEST = 36

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

    SAMPLES = (6_000, 2_000)  # by default
    numerics: ClassVar[dict[str, int]] = {"mlp": 4}  # tiny networks train in step
    SHAPE = (1, 16, 16)
    CLASSES = 100  # by default

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


_FEATURES, _CLASSES = 60, 10
_SCALE = np.arange(1, _FEATURES + 1) ** -0.6  # the root of Σ_jj = j^(−1.2)
_TRAINED = 0.9  # of a user's samples


@dataclass(frozen=True)
class Synthetic(Source):
    """Synthetic(α, β): each user k has y = argmax(W_k x + b_k) on points of its own (FedProx).

    Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, section 5.1, after
    Shamir et al., ICML 2014: u_k ~ N(0, α²), entries of W_k (60 × 10) and b_k ~ N(u_k, 1); B_k ~
    N(0, β²), entries of v_k ~ N(B_k, 1), x ~ N(v_k, Σ) with Σ_jj = j^(−1.2). Sizes are
    50 + ⌊LogNormal(4, 2)⌋. As in the released code α and β are standard deviations, and each user
    keeps a tenth of its points for testing. With `iid` all share one W and b ~ N(0, 1), and v = 0.
    Users are the data's groups: use the partition `natural` with as many clients. The points depend
    on `seed` alone, not on the seed of the run.
    """

    SAMPLES = (20_101, 2_248)  # by default
    CLASSES = 10
    SHAPE = (60,)

    alpha: NonNegative = 1.0  # how much the users' models differ
    beta: NonNegative = 1.0  # how much their points differ
    iid: bool = False
    users: Count = 30
    seed: Annotated[int, Ge(0), Lt(2**32)] = 0

    def samples(self) -> tuple[int, int]:
        """The numbers of training and test points."""
        sizes = self._sizes(np.random.RandomState(self.seed))
        trained = int((_TRAINED * sizes).astype(int).sum())
        return trained, int(sizes.sum()) - trained

    def largest_class(self) -> int:
        """The test points of the most frequent class."""
        return int(np.bincount(self.load(Path()).y_test).max())

    def load(self, folder: Path) -> Dataset:
        """Draw the points; `folder` is not used."""
        rng = np.random.RandomState(self.seed)  # its numbers are the same in every version of NumPy
        sizes = self._sizes(rng)
        u, B = rng.normal(0, self.alpha, self.users), rng.normal(0, self.beta, self.users)
        v = rng.normal(B[:, None], 1, (self.users, _FEATURES))
        shared = rng.normal(0, 1, (_FEATURES + 1, _CLASSES))
        x, y = [], []
        for k, n in enumerate(sizes):
            own = rng.normal(u[k], 1, (_FEATURES + 1, _CLASSES))
            W = shared if self.iid else own  # b is its last row
            points = (0 if self.iid else v[k]) + _SCALE * rng.normal(size=(n, _FEATURES))
            x.append(points.astype(np.float32))
            y.append((points @ W[:-1] + W[-1]).argmax(1))
        owner = np.repeat(np.arange(self.users), sizes)
        place = np.concatenate([np.arange(n) for n in sizes])
        test = place >= (_TRAINED * sizes).astype(int)[owner]
        points, labels = np.concatenate(x), np.concatenate(y)
        sha = hashlib.sha256(points.tobytes() + labels.tobytes()).hexdigest()
        return Dataset(
            "synthetic", points[~test], labels[~test], points[test], labels[test],
            classes=_CLASSES, origin={"source": "made of random points", "sha256": sha},
            groups=owner[~test], groups_test=owner[test],
        )  # fmt: skip

    def _sizes(self, rng: np.random.RandomState) -> NDArray[np.int64]:
        return rng.lognormal(4, 2, self.users).astype(int) + 50


_HALF_SIDE = 4.0  # the points lie in (−4, 4)²


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
    SAMPLES = (300, 1_000)  # by default
    SHAPE = (2,)
    CLASSES = 4

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
        (x, y), (x_test, y_test) = (_quadrants(n, rng) for n in (self.train, self.test))
        sha = hashlib.sha256(b"".join(a.tobytes() for a in (x, y, x_test, y_test))).hexdigest()
        origin = {"source": "made of random points", "sha256": sha}
        return Dataset("toy", x, y, x_test, y_test, classes=4, origin=origin)


def _quadrants(count: int, rng: random.Random) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    numbers = [_HALF_SIDE * (2 * rng.random() - 1) for _ in range(2 * count)]
    points = np.array(numbers, dtype=np.float32).reshape(count, 2)
    right, upper = (points > 0).T
    return points, np.where(upper, np.where(right, 0, 1), np.where(right, 3, 2))
