"""LeNet-5 with ReLU and max pooling."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from fedbench.base.checks import Natural, Positive
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import require_images
from fedbench.models.pooling import MaxPool2, Pooled


@dataclass(frozen=True)
class LeNet5(Architecture):
    """conv 6@5×5, pool, conv 16@5×5, pool, 120, 84, classes (62,006 parameters on 32×32×3, C=10).

    `width` scales channels and hidden units (1 is the papers' model); both convolutions pad images
    by `padding` pixels, so that images smaller than 32×32 leave something to pool.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 11_000.0  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (200.0, 0.3)  # see plan/asked.py

    width: Positive = 1.0
    padding: Natural = 0

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the 84 units before the classifier."""
        require_images("LeNet5", inputs)
        c1, c2, h1, h2 = (max(1, round(n * self.width)) for n in (6, 16, 120, 84))
        body = Pooled(
            nn.Conv2d(inputs.shape[0], c1, 5, padding=self.padding),
            MaxPool2(),
            nn.ReLU(),
            nn.Conv2d(c1, c2, 5, padding=self.padding),
            MaxPool2(),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(c2 * self._side(inputs.shape[1]) * self._side(inputs.shape[2]), h1),
            nn.ReLU(),
            nn.Linear(h1, h2),
            nn.ReLU(),
        )
        return BodyHead(body, nn.Linear(h2, inputs.classes))

    def _side(self, size: int) -> int:
        """The height or width that two convolutions and two poolings leave."""
        left = size
        for _ in range(2):
            left = (left + 2 * self.padding - 4) // 2
        if left < 1:
            raise FedbenchError(
                f"LeNet5: images of side {size} are too small for its layers; padding = "
                f"{self.padding} must be larger"
            )
        return left
