"""CIFAR-10: 50,000 + 10,000 small colour photographs of ten classes."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote
from fedbench.data.images import ImageSet, load_images
from fedbench.data.source import Source

_ARCHIVE = "cifar-10-python.tar.gz"
_REMOTE = Remote(
    f"https://www.cs.toronto.edu/~kriz/{_ARCHIVE}",
    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
)


@dataclass(frozen=True)
class CIFAR10(Source):
    """Small photographs, 32×32 colour, 10 classes (Krizhevsky, 2009)."""

    SAMPLES: ClassVar[tuple[int, int]] = (50_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 32, 32)  # channels, height, width
    CLASSES: ClassVar[int] = 10
    LARGEST: ClassVar[int] = 1000  # test samples of the largest class

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/cifar10.npz`, or download it."""
        usual = Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
        images = ImageSet("cifar10", "CIFAR10", (32, 32, 3), 10, usual, {_ARCHIVE: _REMOTE})
        return load_images(images, folder)
