"""MNIST, CIFAR-10 and CIFAR-100, as torchvision reads them."""

from dataclasses import dataclass
from typing import ClassVar

from fedbench.data.dataset import Normalisation
from fedbench.data.download import Remote
from fedbench.data.images import ImageSet

_CIFAR, _MNIST = "https://www.cs.toronto.edu/~kriz", "https://ossci-datasets.s3.amazonaws.com/mnist"
_MNIST_SHA256 = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


def _cifar(file: str, sha256: str) -> dict[str, Remote]:
    return {file: Remote(f"{_CIFAR}/{file}", sha256)}


@dataclass(frozen=True)
class MNIST(ImageSet):
    """Handwritten digits, 28×28 grey, 10 classes (LeCun et al., Proc. IEEE 1998)."""

    SAMPLES: ClassVar[tuple[int, int]] = (60_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (1, 28, 28)  # channels, height, width
    CLASSES: ClassVar[int] = 10
    LARGEST: ClassVar[int] = 1135  # test samples of the largest class
    USUAL: ClassVar[Normalisation] = Normalisation((0.1307,), (0.3081,))
    REMOTES: ClassVar[dict[str, Remote]] = {
        f"MNIST/raw/{name}-ubyte.gz": Remote(f"{_MNIST}/{name}-ubyte.gz", sha256)
        for name, sha256 in _MNIST_SHA256.items()
    }


@dataclass(frozen=True)
class CIFAR10(ImageSet):
    """Small photographs, 32×32 colour, 10 classes (Krizhevsky, 2009)."""

    SAMPLES: ClassVar[tuple[int, int]] = (50_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 32, 32)  # channels, height, width
    CLASSES: ClassVar[int] = 10
    LARGEST: ClassVar[int] = 1000  # test samples of the largest class
    USUAL = Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    REMOTES = _cifar(
        "cifar-10-python.tar.gz", "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
    )


@dataclass(frozen=True)
class CIFAR100(ImageSet):
    """Small photographs, 32×32 colour, 100 fine classes (Krizhevsky, 2009)."""

    SAMPLES: ClassVar[tuple[int, int]] = (50_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 32, 32)  # channels, height, width
    CLASSES: ClassVar[int] = 100
    LARGEST: ClassVar[int] = 100  # test samples of the largest class
    USUAL = Normalisation((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
    REMOTES = _cifar(
        "cifar-100-python.tar.gz",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    )
