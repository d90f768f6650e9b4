"""Toy and Synthetic(α, β): random points, of quadrants and of linear models of each user's own."""

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural, NonNegative
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source

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

    SAMPLES: ClassVar[tuple[int, int]] = (20_101, 2_248)  # by default
    CLASSES: ClassVar[int] = 10
    SHAPE: ClassVar[tuple[int]] = (60,)  # features

    alpha: NonNegative = 1.0  # how much the users' models differ
    beta: NonNegative = 1.0  # how much their points differ
    iid: bool = False
    users: Count = 30
    seed: Natural = 0

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
        (x, y), (x_test, y_test) = (_quadrants(n, rng) for n in (self.train, self.test))
        sha = hashlib.sha256(b"".join(a.tobytes() for a in (x, y, x_test, y_test))).hexdigest()
        origin = {"source": "made of random points", "sha256": sha}
        return Dataset("toy", x, y, x_test, y_test, classes=4, origin=origin)


def _quadrants(count: int, rng: random.Random) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    numbers = [_HALF_SIDE * (2 * rng.random() - 1) for _ in range(2 * count)]
    points = np.array(numbers, dtype=np.float32).reshape(count, 2)
    right, upper = (points > 0).T
    return points, np.where(upper, np.where(right, 0, 1), np.where(right, 3, 2))
