"""Tiny-ImageNet: 100,000 + 10,000 small colour photographs of 200 classes."""

import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_text, sha256_of
from fedbench.data.archive import Arrays
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote, obtain
from fedbench.data.images import ImageSet, Pixels, load_images, read_image
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
        return load_images(images, folder, lambda: _official(folder))


def _official(folder: Path) -> Arrays:
    """The arrays of `<folder>/tiny-imagenet-200/`, or of its zip, which is downloaded if needed."""
    if os.path.isdir(folder / _NAME):
        return _arrays(folder / _NAME)
    file = folder / f"{_NAME}.zip"
    obtain(_REMOTE, file, f"put it there, or the folder {_NAME}/")
    sha256 = sha256_of(file) if os.path.isfile(file) else "missing (this is not a file)"
    if sha256 != _REMOTE.sha256:
        raise FedbenchError(
            f"tinyimagenet ({file}): the sha256 is {sha256}, but {_REMOTE.sha256} is expected; "
            "delete it or put a sound one in its place, or unpack a sound one as "
            f"{folder / _NAME}/"
        )
    with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(file) as published:
        published.extractall(unpacked)
        return _arrays(Path(unpacked, _NAME))


def _arrays(top: Path) -> Arrays:
    """The arrays of all images; raises `FedbenchError` if one is missing, before any is decoded."""
    classes = _classes(top)
    train, test = _training(classes, top), _validation(classes, top)
    for part, labelled in (("train", train), ("val", test)):
        _check_counts(part, labelled, classes, top)
    (x, y), (x_test, y_test) = _decoded(train, top), _decoded(test, top)
    return {"x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test}


def _lines(file: Path) -> list[str]:
    return [line for line in read_text(file).splitlines() if line.strip()]


def _classes(top: Path) -> Mapping[str, int]:
    names = [line.strip() for line in _lines(top / "wnids.txt")]
    if len(names) != _CLASSES or len(set(names)) != _CLASSES:
        raise FedbenchError(
            f"{top}: wnids.txt has {len(names)} lines with {len(set(names))} different "
            f"classes; it must name {_CLASSES}, one per line"
        )
    return {name: label for label, name in enumerate(sorted(names))}


def _training(classes: Mapping[str, int], top: Path) -> Labelled:
    images = (file.relative_to(top).as_posix() for file in top.glob("train/**/*.JPEG"))
    return [
        (name, _label(name.split("/")[1], classes, f"{top}: {name}")) for name in sorted(images)
    ]


def _validation(classes: Mapping[str, int], top: Path) -> Labelled:
    """The validation images with their classes, in the order of the annotations."""
    images = {file.relative_to(top).as_posix() for file in top.glob("val/images/*")}
    labels: dict[str, int] = {}
    for line in _lines(top / _NOTES):
        file, wnid = (*line.split("\t"), "")[:2]
        name = f"val/images/{file}"
        if name in labels or name not in images:
            wrong = "twice" if name in labels else "but it is not there"
            raise FedbenchError(f"{top}: {_NOTES} names {name} {wrong}")
        labels[name] = _label(wnid, classes, f"{top}: {_NOTES}: {file}")
    unnamed = sorted(images - set(labels))
    if unnamed:
        raise FedbenchError(f"{top}: {unnamed[0]} has no line in {_NOTES}")
    return list(labels.items())


def _label(wnid: str, classes: Mapping[str, int], where: str) -> int:
    if wnid not in classes:
        raise FedbenchError(f"{where} has class {wnid!r}; it must be one of those in wnids.txt")
    return classes[wnid]


def _check_counts(part: str, labelled: Labelled, classes: Mapping[str, int], top: Path) -> None:
    counts = np.bincount([label for _, label in labelled], minlength=_CLASSES)
    for (name, label), each in ((item, _EACH[part]) for item in classes.items()):
        if counts[label] != each:
            raise FedbenchError(
                f"{top}: {part} holds {counts[label]} images of class {name}; it must hold {each}"
            )


def _decoded(labelled: Labelled, top: Path) -> tuple[Pixels, NDArray[np.int64]]:
    x = np.empty((len(labelled), *_SHAPE), dtype=np.uint8)
    for i, (name, _) in enumerate(labelled):
        image = read_image(top / name)
        if image.shape != _SHAPE:
            raise FedbenchError(
                f"{top}: {name} is {image.shape[:2]} pixels; it must be {_SHAPE[:2]}"
            )
        x[i] = image
    return x, np.array([label for _, label in labelled], dtype=np.int64)
