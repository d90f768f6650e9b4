"""CIFAR-100: 50,000 + 10,000 colour images of a hundred kinds of things."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote
from fedbench.data.images import ImageSet, load_images
from fedbench.data.source import Source

_ARCHIVE = "cifar-100-python.tar.gz"
_REMOTE = Remote(
    f"https://www.cs.toronto.edu/~kriz/{_ARCHIVE}",
    "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
)


@dataclass(frozen=True)
class CIFAR100(Source):
    """Small photographs, 32×32 colour, 100 fine classes (Krizhevsky, 2009)."""

    SAMPLES: ClassVar[tuple[int, int]] = (50_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 32, 32)  # channels, height, width
    CLASSES: ClassVar[int] = 100
    LARGEST: ClassVar[int] = 100  # test samples of the largest class

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/cifar100.npz`, or download it."""
        usual = Normalisation((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
        images = ImageSet("cifar100", "CIFAR100", (32, 32, 3), 100, usual, {_ARCHIVE: _REMOTE})
        return load_images(images, folder)
