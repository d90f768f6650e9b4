"""Label noise: a share of each client's training labels is wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Fraction
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.data.shift import Place, Shift


@dataclass(frozen=True)
class LabelNoise(Shift):
    """Client i gives a share ε_i ~ U(least, most) of its samples another label, drawn uniformly.

    Symmetric noise at a level per client, as Xu et al., "FedCorr: Multi-Stage Federated Learning
    for Label Noise Correction", CVPR 2022, have it at their noisy clients. Test labels are right.
    """

    least: Fraction = 0.0  # at most `most`
    most: Fraction = 0.4

    def require(self, data: Dataset) -> None:
        """Refuse data without classes, and shares that do not fit."""
        if not data.classes:
            raise FedbenchError(f"shift: {self} needs classes, but '{data.name}' has numbers")
        if self.least > self.most:
            raise FedbenchError(f"shift: {self}: least must be at most most")

    def labels(self, y: NDArray[Any], classes: int, place: Place) -> NDArray[Any]:
        """The labels, of which some are wrong."""
        share = place.rng.uniform(self.least, self.most)
        wrong = place.rng.random(len(y)) < share
        others = (y + place.rng.integers(1, classes, len(y))) % classes
        return np.where(wrong, others, y).astype(y.dtype)
