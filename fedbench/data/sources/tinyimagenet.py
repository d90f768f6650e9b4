"""Tiny-ImageNet: 100,000 + 10,000 small colour photographs of 200 classes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists
from fedbench.data.archive import Arrays, checksum
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote, obtain
from fedbench.data.folders import Folder, Tree, Zip
from fedbench.data.images import ImageSet, load_images
from fedbench.data.photographs import Pixels, decode
from fedbench.data.source import Source

_NAME = "tiny-imagenet-200"
# The authors publish no checksum; this is the one that several independent projects use.
_REMOTE = Remote(
    f"https://cs231n.stanford.edu/{_NAME}.zip",
    "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
)
_USUAL = Normalisation((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821))
_CLASSES = 200
_EACH = {"train": 500, "val": 50}  # images per class
_SHAPE = (64, 64, 3)
_NOTES = "val/val_annotations.txt"

Labelled = Sequence[tuple[str, int]]  # names of images and their classes


@dataclass(frozen=True)
class TinyImageNet(Source):
    """Photographs of 200 classes, 64×64 colour (Le & Yang, Stanford CS 231N, 2015).

    The official validation images are the test set, as in the papers: the official test images
    have no published labels. Classes are numbered in the order of their WordNet ids.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (100_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 64, 64)  # channels, height, width
    CLASSES: ClassVar[int] = 200
    LARGEST: ClassVar[int] = 50  # test samples of the largest class

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/tinyimagenet.npz`; if it is missing, write it from the official images."""
        images = ImageSet("tinyimagenet", "", _SHAPE, _CLASSES, _USUAL)
        return load_images(images, folder, lambda: _arrays(_official(folder)))


def _official(folder: Path) -> Tree:
    """`<folder>/tiny-imagenet-200/` or its zip, which is downloaded if neither is there."""
    if os.path.isdir(folder / _NAME):
        return Folder(folder / _NAME)
    file = folder / f"{_NAME}.zip"
    if not exists(file):
        obtain(_REMOTE, file, f"put it there, or the folder {_NAME}/")
    sha256 = checksum(file) if os.path.isfile(file) else "missing (this is not a file)"
    if sha256 != _REMOTE.sha256:
        raise FedbenchError(
            f"tinyimagenet ({file}): the sha256 is {sha256}, but {_REMOTE.sha256} is expected; "
            "delete it or put a sound one in its place, or unpack a sound one as "
            f"{folder / _NAME}/"
        )
    return Zip(file, _NAME)


def _arrays(tree: Tree) -> Arrays:
    """The arrays of all images; raises `FedbenchError` if one is missing, before any is decoded."""
    classes, names = _classes(tree), tree.names()
    train = _training(names, classes, tree)
    test = _validation({n for n in names if n.startswith("val/images/")}, classes, tree)
    for part, labelled in (("train", train), ("val", test)):
        _check_counts(part, labelled, classes, tree)
    (x, y), (x_test, y_test) = _decoded(train, tree), _decoded(test, tree)
    return {"x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test}


def _classes(tree: Tree) -> Mapping[str, int]:
    names = [line.strip() for line in tree.text("wnids.txt")]
    if len(names) != _CLASSES or len(set(names)) != _CLASSES:
        raise FedbenchError(
            f"{tree.path}: wnids.txt has {len(names)} lines with {len(set(names))} different "
            f"classes; it must name {_CLASSES}, one per line"
        )
    return {name: label for label, name in enumerate(sorted(names))}


def _training(names: Sequence[str], classes: Mapping[str, int], tree: Tree) -> Labelled:
    images = [n for n in names if n.startswith("train/") and n.lower().endswith(".jpeg")]
    return [(n, _label(n.split("/")[1], classes, f"{tree.path}: {n}")) for n in images]


def _validation(images: set[str], classes: Mapping[str, int], tree: Tree) -> Labelled:
    """The validation images with their classes, in the order of the annotations."""
    labels: dict[str, int] = {}
    for line in tree.text(_NOTES):
        file, wnid = (*line.split("\t"), "")[:2]
        name = f"val/images/{file}"
        if name in labels or name not in images:
            wrong = "twice" if name in labels else "but it is not there"
            raise FedbenchError(f"{tree.path}: {_NOTES} names {name} {wrong}")
        labels[name] = _label(wnid, classes, f"{tree.path}: {_NOTES}: {file}")
    unnamed = sorted(images - set(labels))
    if unnamed:
        raise FedbenchError(f"{tree.path}: {unnamed[0]} has no line in {_NOTES}")
    return list(labels.items())


def _label(wnid: str, classes: Mapping[str, int], where: str) -> int:
    if wnid not in classes:
        raise FedbenchError(f"{where} has class {wnid!r}; it must be one of those in wnids.txt")
    return classes[wnid]


def _check_counts(part: str, labelled: Labelled, classes: Mapping[str, int], tree: Tree) -> None:
    counts = np.bincount([label for _, label in labelled], minlength=_CLASSES)
    for (name, label), each in ((item, _EACH[part]) for item in classes.items()):
        if counts[label] != each:
            raise FedbenchError(
                f"{tree.path}: {part} holds {counts[label]} images of class {name}; "
                f"it must hold {each}"
            )


def _decoded(labelled: Labelled, tree: Tree) -> tuple[Pixels, NDArray[np.int64]]:
    x = np.empty((len(labelled), *_SHAPE), dtype=np.uint8)
    for i, (name, _) in enumerate(labelled):
        image = decode(tree.read(name), f"{tree.path}: {name}")
        if image.shape != _SHAPE:
            raise FedbenchError(
                f"{tree.path}: {name} is {image.shape[:2]} pixels; it must be {_SHAPE[:2]}"
            )
        x[i] = image
    return x, np.array([label for _, label in labelled], dtype=np.int64)
