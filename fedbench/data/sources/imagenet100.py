"""ImageNet-100: some 126,000 + 5,000 photographs of a hundred classes of ImageNet."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.base.processes import cores
from fedbench.data import mapped
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.photographs import Pixels, read
from fedbench.data.source import Source

_USUAL = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_CLASSES = 100
_ENDINGS = (".jpeg", ".jpg", ".png")
_LAYOUT = "train/<class>/*.JPEG and val/<class>/*.JPEG (or train.X1 … and val.X in their places)"
_CHUNK = 256  # images decoded at a time

Listing = Mapping[str, Sequence[Path]]  # the images of each class


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
        if not mapped.is_complete(file):
            _decode(folder / "imagenet100", file, self.size)
        x, contents = mapped.read(file, "imagenet100", self.size, _CLASSES)
        y, y_test = (np.repeat(np.arange(_CLASSES), n) for n in (contents.train, contents.test))
        origin = {"source": "image folders", "file": str(file), "sha256": contents.sha256}
        return Dataset(
            "imagenet100", x[: len(y)], y, x[len(y) :], y_test,
            classes=self.CLASSES, origin=origin, normalisation=_USUAL,
        )  # fmt: skip


def _decode(source: Path, file: Path, size: int) -> None:
    train, test = _listing(source, "train"), _listing(source, "val")
    if len(train) != _CLASSES:
        raise FedbenchError(
            f"imagenet100: {source} has {len(train)} classes to train on; "
            f"it must hold {_CLASSES} as {_LAYOUT}"
        )
    strange = sorted(set(train) ^ set(test))
    if strange:
        raise FedbenchError(
            f"imagenet100: {source} has class {strange[0]} in only one of train and val; "
            f"it must hold {_LAYOUT}"
        )
    contents = mapped.Contents(
        classes=tuple(train),
        train=tuple(len(files) for files in train.values()),
        test=tuple(len(files) for files in test.values()),
    )
    files = list(chain(*train.values(), *test.values()))
    mapped.write(file, contents, _decoded(files, size), size)


def _listing(source: Path, part: str) -> Listing:
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


def _decoded(files: Sequence[Path], size: int) -> Iterator[Pixels]:
    """The decoded images in order; all cores work, and few images are in memory at a time."""
    with ThreadPoolExecutor(cores()) as pool:
        for first in range(0, len(files), _CHUNK):
            yield from pool.map(partial(read, side=size), files[first : first + _CHUNK])
