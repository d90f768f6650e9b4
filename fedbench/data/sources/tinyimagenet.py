"""Tiny-ImageNet: 100,000 + 10,000 small colour photographs of 200 classes."""

import os
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.base.errors import FedbenchError, at
from fedbench.base.files import read_text, sha256_of
from fedbench.data.archive import Arrays
from fedbench.data.dataset import Normalisation
from fedbench.data.download import Remote, obtain
from fedbench.data.images import ImageSet, Pixels, decoded

_NAME = "tiny-imagenet-200"
# The authors publish no checksum; this is the one that several independent projects use.
_REMOTE = Remote(
    f"https://cs231n.stanford.edu/{_NAME}.zip",
    "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
)
_CLASSES = 200
_EACH = {"train": 500, "val": 50}  # images per class
_SHAPE = (64, 64, 3)
_NOTES = "val/val_annotations.txt"


@dataclass(frozen=True)
class TinyImageNet(ImageSet):
    """Photographs of 200 classes, 64×64 colour (Le & Yang, Stanford CS 231N, 2015).

    The official validation images are the test set, as in the papers: the official test images
    have no published labels. Classes are numbered in the order of their WordNet ids.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (100_000, 10_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 64, 64)  # channels, height, width
    CLASSES: ClassVar[int] = 200
    LARGEST: ClassVar[int] = 50  # test samples of the largest class
    USUAL = Normalisation((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821))

    def published(self, folder: Path) -> Arrays:
        """The arrays of `<folder>/tiny-imagenet-200/`, or of its zip, downloaded if needed."""
        top, file = folder / _NAME, folder / f"{_NAME}.zip"
        if os.path.isdir(top):
            return _arrays(top)
        obtain(_REMOTE, file, f"put it there, or the folder {_NAME}/")
        sha256 = sha256_of(file) if os.path.isfile(file) else "missing (this is not a file)"
        if sha256 != _REMOTE.sha256:
            raise FedbenchError(
                f"tinyimagenet ({file}): the sha256 is {sha256}, but {_REMOTE.sha256} is expected; "
                f"delete it or put a sound one in its place, or unpack a sound one as {top}/"
            )
        with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(file) as published:
            published.extractall(unpacked)
            return _arrays(Path(unpacked, _NAME))


def _arrays(top: Path) -> Arrays:
    """The arrays of all images; raises `FedbenchError` if one is missing, before any is decoded."""
    texts = (read_text(top / name).splitlines() for name in ("wnids.txt", _NOTES))
    names, notes = ([line for line in text if line.strip()] for text in texts)
    classes = sorted({name.strip() for name in names})
    images, annotated = (
        sorted(file.relative_to(top).as_posix() for file in top.glob(pattern))
        for pattern in ("train/**/*.JPEG", "val/images/*")
    )
    with at(str(top)):
        if not len(names) == len(classes) == _CLASSES:
            raise FedbenchError(
                f"wnids.txt has {len(names)} lines with {len(classes)} different classes; it must "
                f"name {_CLASSES}, one per line"
            )
        train = {name: name.split("/")[1] for name in images}
        test = _annotated(notes, annotated)
        for part, labelled in (("train", train), ("val", test)):
            counts = Counter(labelled.values())
            for name, wnid in labelled.items():
                if wnid not in classes:
                    raise FedbenchError(
                        f"{name} has class {wnid!r}; it must be one of those in wnids.txt"
                    )
            for wnid in classes:
                if counts[wnid] != _EACH[part]:
                    raise FedbenchError(
                        f"{part} holds {counts[wnid]} images of class {wnid}; it must hold "
                        f"{_EACH[part]}"
                    )
    x, x_test = (_pixels(top, [*labelled]) for labelled in (train, test))
    y, y_test = (np.searchsorted(classes, [*labelled.values()]) for labelled in (train, test))
    return {"x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test}


def _annotated(notes: Iterable[str], images: Iterable[str]) -> dict[str, str]:
    """The validation images with their classes, in the order of the annotations."""
    classes: dict[str, str] = {}
    missing = dict.fromkeys(images)
    for line in notes:
        file, wnid = (*line.split("\t"), "")[:2]
        name = f"val/images/{file}"
        if name not in missing:
            wrong = "twice" if name in classes else "but it is not there"
            raise FedbenchError(f"{_NOTES} names {name} {wrong}")
        classes[name] = wnid
        del missing[name]
    for name in missing:
        raise FedbenchError(f"{name} has no line in {_NOTES}")
    return classes


def _pixels(top: Path, names: list[str]) -> Pixels:
    x = np.empty((len(names), *_SHAPE), dtype=np.uint8)
    for i, image in enumerate(decoded([top / name for name in names])):
        if image.shape != _SHAPE:
            raise FedbenchError(
                f"{top}: {names[i]} is {image.shape[:2]} pixels; it must be {_SHAPE[:2]}"
            )
        x[i] = image
    return x
