"""MNIST: 60,000 + 10,000 grey images of handwritten digits."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote
from fedbench.data.images import ImageSet, load_images
from fedbench.data.source import Source

_PLACE = "https://ossci-datasets.s3.amazonaws.com/mnist"
_SHA256 = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
_REMOTES = {
    f"MNIST/raw/{name}-ubyte.gz": Remote(f"{_PLACE}/{name}-ubyte.gz", sha256)
    for name, sha256 in _SHA256.items()
}


@dataclass(frozen=True)
class MNIST(Source):
    """Handwritten digits, 28×28 grey, 10 classes (LeCun et al., Proc. IEEE 1998)."""

    SAMPLES: ClassVar[tuple[int, int]] = (60_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (1, 28, 28)  # channels, height, width
    CLASSES: ClassVar[int] = 10
    LARGEST: ClassVar[int] = 1135  # test samples of the largest class

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/mnist.npz`, or download it."""
        usual = Normalisation((0.1307,), (0.3081,))
        images = ImageSet("mnist", "MNIST", (28, 28), 10, usual, _REMOTES)
        return load_images(images, folder)
