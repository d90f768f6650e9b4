"""ImageNet-100: some 126,000 + 5,000 photographs of a hundred classes, mapped from disk."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.base.checks import Count, Strict
from fedbench.base.errors import FedbenchError, at, failing
from fedbench.base.files import atomic, delete_abandoned, exists, sha256_of, write_text
from fedbench.base.yamlfile import load
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.images import Pixels, decoded
from fedbench.data.source import Source

_CLASSES = 100
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

    SAMPLES: ClassVar[tuple[int, int]] = (126_689, 5_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 224, 224)  # channels, height, width, by default
    CLASSES: ClassVar[int] = 100
    LARGEST: ClassVar[int] = 50  # test samples of the largest class

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
    if len(train) != _CLASSES:
        raise FedbenchError(
            f"imagenet100: {source} has {len(train)} classes to train on; "
            f"it must hold {_CLASSES} as {_LAYOUT}"
        )
    for strange in sorted(set(train) ^ set(test)):
        raise FedbenchError(
            f"imagenet100: {source} has class {strange} in only one of train and val; "
            f"it must hold {_LAYOUT}"
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
    tops = [top for top in (source / part, *source.glob(f"{part}.*")) if top.is_dir()]
    folders = [folder for top in tops for folder in top.iterdir() if folder.is_dir()]
    by_class: dict[str, list[Path]] = {name: [] for name in sorted(f.name for f in folders)}
    for folder in folders:
        by_class[folder.name] += [f for f in folder.iterdir() if f.suffix.lower() in _ENDINGS]
    empty = [name for name, files in by_class.items() if not files]
    if empty or not by_class:
        what = f"class {empty[0]} of {source / part}" if empty else source / part
        raise FedbenchError(f"imagenet100: {what} holds no image; put the data there as {_LAYOUT}")
    return {name: sorted(files) for name, files in by_class.items()}


def _stored(file: Path, side: int) -> tuple[Pixels, Contents]:
    """The images (N, side, side, 3), mapped into memory, and their manifest.

    Changes in memory never reach the disk. The file stores channels first, as networks take them,
    so that nothing needs to be copied. Raises `FedbenchError` if the file and its manifest do not
    fit each other.
    """
    manifest = file.with_suffix(".json")
    contents = load(manifest, Contents)
    if not len(contents.classes) == len(contents.train) == len(contents.test) == _CLASSES:
        raise FedbenchError(
            f"{manifest}: classes, train and test must have {_CLASSES} entries each; {_REMEDY}"
        )
    with at(f"imagenet100 ({file})"):
        with failing("the file is not a readable npy array", _REMEDY):
            pixels: Pixels = np.lib.format.open_memmap(file, mode="c")
        expected = (sum(contents.train) + sum(contents.test), 3, side, side)
        if pixels.shape != expected or pixels.dtype != np.uint8:
            raise FedbenchError(
                f"the file holds {pixels.dtype} of shape {pixels.shape}; by {manifest.name} it "
                f"must be uint8 of shape {expected}; {_REMEDY}"
            )
        if sha256_of(file) != contents.sha256:
            raise FedbenchError(
                f"the file does not have the sha256 that {manifest.name} says; {_REMEDY}"
            )
    return pixels.transpose(0, 2, 3, 1), contents
