"""Synthetic(α, β): points that every client labels by a linear model of its own."""

import hashlib
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
