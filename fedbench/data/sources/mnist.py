"""MNIST: 60,000 + 10,000 grey images of handwritten digits."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.images import ImageSet, load_images
from fedbench.data.source import Source


@dataclass(frozen=True)
class Mnist(Source):
    """Handwritten digits, 28×28 grey, 10 classes (LeCun et al., Proc. IEEE 1998)."""

    SAMPLES: ClassVar[tuple[int, int]] = (60_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (1, 28, 28)  # channels, height, width
    CLASSES: ClassVar[int] = 10

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/mnist.npz`, or download it."""
        usual = Normalisation((0.1307,), (0.3081,))
        return load_images(ImageSet("mnist", "MNIST", (28, 28), 10, usual), folder)
