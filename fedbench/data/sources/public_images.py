"""MNIST, CIFAR and Tiny-ImageNet, one npz file each, and ImageNet-100, decoded once."""

import os
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.base.checks import Count, Strict
from fedbench.base.errors import FedbenchError, at, failing
from fedbench.base.files import atomic, delete_abandoned, exists, read_text, sha256_of, write_text
from fedbench.base.grouping import grouped
from fedbench.base.yamlfile import load
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.image_sets import ImageSet, Pixels, decoded
from fedbench.data.npz_and_csv_files import Arrays
from fedbench.data.source import Remote, Source, obtain

_CIFAR, _MNIST = "https://www.cs.toronto.edu/~kriz", "https://ossci-datasets.s3.amazonaws.com/mnist"
_MNIST_SHA256 = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


def _cifar(file: str, sha256: str) -> dict[str, Remote]:
    return {file: (f"{_CIFAR}/{file}", sha256)}


@dataclass(frozen=True)
class MNIST(ImageSet):
    """Handwritten digits, 28×28 grey, 10 classes (LeCun et al., Proc. IEEE 1998)."""

    SAMPLES = (60_000, 10_000)
    SHAPE = (1, 28, 28)
    CLASSES = 10
    LARGEST = 1135
    USUAL = Normalisation((0.1307,), (0.3081,))
    REMOTES: ClassVar[dict[str, Remote]] = {
        f"MNIST/raw/{name}-ubyte.gz": (f"{_MNIST}/{name}-ubyte.gz", sha256)
        for name, sha256 in _MNIST_SHA256.items()
    }


@dataclass(frozen=True)
class CIFAR10(ImageSet):
    """Small photographs, 32×32 colour, 10 classes (Krizhevsky, 2009)."""

    SAMPLES = (50_000, 10_000)
    SHAPE = (3, 32, 32)
    CLASSES = 10
    LARGEST = 1000
    USUAL = Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    REMOTES = _cifar(
        "cifar-10-python.tar.gz", "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
    )


@dataclass(frozen=True)
class CIFAR100(ImageSet):
    """Small photographs, 32×32 colour, 100 fine classes (Krizhevsky, 2009)."""

    SAMPLES = (50_000, 10_000)
    SHAPE = (3, 32, 32)
    CLASSES = 100
    LARGEST = 100
    USUAL = Normalisation((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
    REMOTES = _cifar(
        "cifar-100-python.tar.gz",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    )


_CLASSES = 100  # of ImageNet-100
_ENDINGS = (".jpeg", ".jpg", ".png")
_LAYOUT = "train/<class>/*.JPEG and val/<class>/*.JPEG (or train.X1 … and val.X in their places)"
_REMEDY = "delete it to have the images decoded again"


class Contents(Strict):
    """The manifest of a file of pixels: class names, and training and test images per class."""

    classes: tuple[str, ...]
    train: tuple[Count, ...]
    test: tuple[Count, ...]
    sha256: str = ""  # of the file of pixels


@dataclass(frozen=True)
class ImageNet100(Source):
    """Photographs of 100 classes (Tian, Krishnan & Isola, ECCV 2020), size×size colour.

    Each is scaled so that its shorter side is `size`, and its middle is cropped. The pixels are
    written to `<folder>/imagenet100-<size>.npy`, with a manifest `.json` beside it, and mapped from
    disk: at 224 they take 19 GB. The file's checksum is compared whenever it is read. Classes are
    numbered in the order of their folders' names; the validation images are the test set.
    """

    SAMPLES = (126_689, 5_000)
    SHAPE = (3, 224, 224)  # by default
    CLASSES = 100
    LARGEST = 50

    size: Count = 224  # pixels

    def load(self, folder: Path) -> Dataset:
        """Read the decoded pixels; if there are none, decode `<folder>/imagenet100/` first."""
        file = folder / f"imagenet100-{self.size}.npy"
        if not (exists(file) and exists(file.with_suffix(".json"))):
            _decode(folder / "imagenet100", file, self.size)
        x, contents = _stored(file, self.size)
        y, y_test = (np.repeat(np.arange(_CLASSES), n) for n in (contents.train, contents.test))
        origin = {"source": "image folders", "file": str(file), "sha256": contents.sha256}
        usual = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
        return Dataset(
            "imagenet100", x[: len(y)], y, x[len(y) :], y_test,
            classes=self.CLASSES, origin=origin, normalisation=usual,
        )  # fmt: skip


def _decode(source: Path, file: Path, size: int) -> None:
    """Write all images (3, size, size) one by one, training images first, and then the manifest."""
    train, test = _listing(source, "train"), _listing(source, "val")
    strange = ", ".join(sorted(set(train) ^ set(test))) or "none"
    if len(train) != _CLASSES or strange != "none":
        raise FedbenchError(
            f"imagenet100: {source} has {len(train)} classes to train on, and in only one of train "
            f"and val {strange}; it must hold {_CLASSES} as {_LAYOUT}"
        )
    delete_abandoned(file.parent)
    files = list(chain(*train.values(), *test.values()))
    facts = {"descr": "|u1", "fortran_order": False, "shape": (len(files), 3, size, size)}
    with atomic(file) as scratch:
        with scratch.open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, facts)
            for image in decoded(files, size):
                stream.write(image.transpose(2, 0, 1).tobytes())
        sha256 = sha256_of(scratch)
    counts = [tuple(map(len, listing.values())) for listing in (train, test)]
    contents = Contents(classes=tuple(train), train=counts[0], test=counts[1], sha256=sha256)
    write_text(file.with_suffix(".json"), contents.model_dump_json(indent=1) + "\n")


def _listing(source: Path, part: str) -> dict[str, list[Path]]:
    """The image files of train or val by class, all sorted by name."""
    files = [*source.glob(f"{part}/*/*"), *source.glob(f"{part}.*/*/*")]
    images = [file for file in files if file.suffix.lower() in _ENDINGS]
    in_order = sorted(images, key=lambda file: (file.parent.name, file))
    return grouped(in_order, lambda file: file.parent.name)


def _stored(file: Path, side: int) -> tuple[Pixels, Contents]:
    """The images (N, side, side, 3), mapped into memory, and their manifest, which must fit."""
    manifest = file.with_suffix(".json")
    contents = load(manifest, Contents)
    if not len(contents.classes) == len(contents.train) == len(contents.test) == _CLASSES:
        raise FedbenchError(
            f"{manifest}: classes, train and test must have {_CLASSES} entries each; {_REMEDY}"
        )
    with at(f"imagenet100 ({file})"):
        with failing("the file is not a readable npy array", _REMEDY):
            pixels: Pixels = np.lib.format.open_memmap(file, mode="c")  # the file never changes
        expected = (sum(contents.train) + sum(contents.test), 3, side, side)
        if pixels.shape != expected or pixels.dtype != np.uint8:
            raise FedbenchError(
                f"the file holds {pixels.dtype} of shape {pixels.shape}; by {manifest.name} it "
                f"must be uint8 of shape {expected}; {_REMEDY}"
            )
        if sha256_of(file) != contents.sha256:
            raise FedbenchError(f"the sha256 is not that of {manifest.name}; {_REMEDY}")
    return pixels.transpose(0, 2, 3, 1), contents  # networks undo this, so nothing is copied


_NAME = "tiny-imagenet-200"
# The authors publish no checksum; this is the one that several independent projects use.
_REMOTE = (
    f"https://cs231n.stanford.edu/{_NAME}.zip",
    "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
)
_EACH = {"train": 500, "val": 50}  # images per class
_SHAPE = (64, 64, 3)
_NOTES = "val/val_annotations.txt"


@dataclass(frozen=True)
class TinyImageNet(ImageSet):
    """Photographs of 200 classes, 64×64 colour (Le & Yang, Stanford CS 231N, 2015).

    The official validation images are the test set, as in the papers: the official test images
    have no published labels. Classes are numbered in the order of their WordNet ids.
    """

    SAMPLES = (100_000, 10_000)
    SHAPE = (3, 64, 64)
    CLASSES = 200
    LARGEST = 50
    USUAL = Normalisation((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821))

    def published(self, folder: Path) -> Arrays:
        """The arrays of `<folder>/tiny-imagenet-200/`, or of its zip, downloaded if needed."""
        top, file = folder / _NAME, folder / f"{_NAME}.zip"
        if os.path.isdir(top):
            return _arrays(top)
        obtain(_REMOTE, file, f"put it there, or the folder {_NAME}/")
        sha256 = sha256_of(file) if os.path.isfile(file) else "missing (this is not a file)"
        if sha256 != _REMOTE[1]:
            raise FedbenchError(
                f"tinyimagenet ({file}): the sha256 is {sha256}, not {_REMOTE[1]}; delete it, "
                f"or put a sound one in its place or unpack one as {top}/"
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
    rows = [f"val/images/{line}\t".split("\t") for line in notes]
    train, test = {name: name.split("/")[1] for name in images}, {row[0]: row[1] for row in rows}
    with at(str(top)):
        if not len(names) == len(classes) == TinyImageNet.CLASSES:
            raise FedbenchError(
                f"wnids.txt has {len(names)} lines with {len(classes)} different classes; it must "
                f"name {TinyImageNet.CLASSES}, one per line"
            )
        labelled = (row[0] for row in rows)
        _require_counts(f"lines of {_NOTES} for", labelled, "the images", Counter(annotated))
        for part, wnids in (("train", train.values()), ("val", test.values())):
            wanted = dict.fromkeys(classes, _EACH[part])
            _require_counts(f"{part} images of class", wnids, "wnids.txt", wanted)
    x, x_test = (_pixels(top, [*part]) for part in (train, test))
    y, y_test = (np.searchsorted(classes, [*part.values()]) for part in (train, test))
    return {"x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test}


def _require_counts(said: str, names: Iterable[str], by: str, wanted: Mapping[str, int]) -> None:
    found = Counter(names)
    for name in [*found, *wanted]:
        if found[name] != wanted.get(name, 0):
            raise FedbenchError(f"{said} {name!r}: {found[name]}; by {by} {wanted.get(name, 0)}")


def _pixels(top: Path, names: list[str]) -> Pixels:
    x = np.empty((len(names), *_SHAPE), dtype=np.uint8)
    for i, image in enumerate(decoded([top / name for name in names])):
        if image.shape != _SHAPE:
            raise FedbenchError(f"{top}: {names[i]} is {image.shape[:2]} pixels, not {_SHAPE[:2]}")
        x[i] = image
    return x
