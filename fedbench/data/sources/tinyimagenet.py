"""Tiny-ImageNet: 100,000 + 10,000 small colour photographs of 200 kinds of things."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np

from fedbench.data.archive import Arrays, short
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.images import ImageSet, load_images
from fedbench.data.photographs import decode
from fedbench.data.source import Source
from fedbench.data.tree import Tree, find_tree
from fedbench.errors import FedbenchError
from fedbench.files import atomic

_NAME = "tiny-imagenet-200"
_URL = f"http://cs231n.stanford.edu/{_NAME}.zip"
_MD5 = "90528d7ca1a48142e341f4ef8d21d0de"
_USUAL = Normalisation((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821))
_NOTES = "val/val_annotations.txt"


@dataclass(frozen=True)
class TinyImageNet(Source):
    """Photographs of 200 classes, 64×64 colour (Le & Yang, Stanford CS 231N, 2015).

    The official validation images are the test set, as in the papers: the official test images
    have no published labels. Classes are numbered in the order of their WordNet ids.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (100_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 64, 64)  # channels, height, width
    CLASSES: ClassVar[int] = 200

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/tinyimagenet.npz`; without it decode the official folder or archive."""
        images = ImageSet("tinyimagenet", "", (64, 64, 3), self.CLASSES, _USUAL)
        return load_images(images, folder, lambda: _decoded(_official(folder)))


def _official(folder: Path) -> Tree:
    """`<folder>/tiny-imagenet-200/` or its zip, which is downloaded if neither is there."""
    found = find_tree(folder, _NAME)
    if found is None:
        _download(folder / f"{_NAME}.zip")
        found = find_tree(folder, _NAME)
    if found is None:
        raise FedbenchError(f"tinyimagenet: {folder / _NAME}.zip vanished after its download")
    return found


def _download(file: Path) -> None:
    try:
        from torchvision.datasets.utils import download_url  # slow to import and seldom needed

        with atomic(file) as scratch:
            download_url(_URL, str(scratch.parent), scratch.name, _MD5)
    except Exception as error:  # no network, a bad checksum, a full disk: the remedy is the same
        raise FedbenchError(
            f"tinyimagenet: neither {file.with_suffix('')}/ nor {file.name} is there and {_URL} "
            f"could not be downloaded ({short(error)}); put one of them there"
        ) from error


def _decoded(tree: Tree) -> Arrays:
    """All images as arrays."""
    classes = {name: label for label, name in enumerate(sorted(tree.text("wnids.txt")))}
    train = [(name, _class_of(name, classes, tree)) for name in _training(tree)]
    test = [_noted(line, classes, tree) for line in tree.text(_NOTES)]
    for part, found in (("train", train), ("val", test)):
        if not found:
            raise FedbenchError(f"{tree.path}: {part} holds no image")
    x, y = _stack(tree, train)
    x_test, y_test = _stack(tree, test)
    return {"x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test}


def _training(tree: Tree) -> list[str]:
    return [n for n in tree.names() if n.startswith("train/") and n.lower().endswith(".jpeg")]


def _class_of(name: str, classes: dict[str, int], tree: Tree) -> int:
    wnid = PurePosixPath(name).parts[1]
    if wnid not in classes:
        raise FedbenchError(f"{tree.path}: {name}: class {wnid} is not in wnids.txt")
    return classes[wnid]


def _noted(line: str, classes: dict[str, int], tree: Tree) -> tuple[str, int]:
    name, _, rest = line.partition("\t")
    wnid = rest.partition("\t")[0]
    if wnid not in classes:
        raise FedbenchError(f"{tree.path}: {_NOTES}: {name} has class {wnid!r}, not in wnids.txt")
    return f"val/images/{name}", classes[wnid]


def _stack(tree: Tree, found: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
    images = [decode(tree.read(name), f"{tree.path}: {name}") for name, _ in found]
    for (name, _), image in zip(found, images, strict=True):
        if image.shape != (64, 64, 3):
            raise FedbenchError(f"{tree.path}: {name} is {image.shape[:2]}; it must be (64, 64)")
    return np.stack(images), np.array([label for _, label in found], dtype=np.int64)
