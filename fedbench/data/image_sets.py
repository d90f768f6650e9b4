"""Public image sets: one npz file each, made once if it is missing; photographs, decoded."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from fedbench.base.errors import FedbenchError, at, failing
from fedbench.base.files import exists, read_text, sha256_of
from fedbench.base.processes import cores
from fedbench.data import npz_and_csv_files
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.source import Remote, Source, obtain

_CHUNK = 256  # images decoded at a time
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class ImageSet(Source):
    """A published set of images of one shape, in the file `<name>.npz` of the data folder.

    `REMOTES` are the files that torchvision reads, by path in its folder. They are downloaded here,
    since torchvision might use plain http and checks them by md5 only.
    """

    USUAL: ClassVar[Normalisation]
    REMOTES: ClassVar[Mapping[str, Remote]] = {}

    def load(self, folder: Path) -> Dataset:
        """Read `<folder>/<name>.npz`; if it is missing, write it from the published files first.

        Where the images are not exactly the published ones, a sentence in `<name>.deviation.txt`
        beside it says so; it is in the record of each run, and on the pages that show the run.
        """
        name, (channels, *sides) = type(self).__name__.lower(), self.SHAPE
        file, note = folder / f"{name}.npz", folder / f"{name}.deviation.txt"
        if not exists(file):
            npz_and_csv_files.write_npz(file, self.published(folder))
        arrays = npz_and_csv_files.read_npz(file, name)
        sample = (*sides, channels) if channels > 1 else (*sides,)
        with at(f"{name} ({file})"):
            for field in ("x_train", "x_test"):
                x = arrays[field]
                if x.dtype != np.uint8 or x.shape[1:] != sample:
                    raise FedbenchError(
                        f"{field} has samples of {x.dtype} and shape {x.shape[1:]}; images of "
                        f"{name} must be uint8 of shape {sample}"
                    )
        origin = {"source": "npz", "file": str(file), "sha256": sha256_of(file)}
        origin |= {"deviation": " ".join(read_text(note).split())} if exists(note) else {}
        dataset = Dataset(
            name, classes=self.CLASSES, origin=origin, normalisation=self.USUAL, **arrays
        )
        # In a file of CIFAR-10 under CIFAR-100's name every label is valid; only a count tells.
        if (labels := len(np.unique(dataset.y_train))) != self.CLASSES:
            raise FedbenchError(
                f"{name} ({file}): y_train has {labels} different labels; {name} has {self.CLASSES}"
            )
        return dataset

    def published(self, folder: Path) -> npz_and_csv_files.Arrays:
        """The arrays of the published files, which torchvision reads; they are downloaded."""
        kind, root = type(self).__name__, folder / "torchvision"
        file = folder / f"{kind.lower()}.npz"
        remedy = f"put it there, or {file} with {', '.join(npz_and_csv_files.FIELDS)}"
        for path, remote in self.REMOTES.items():
            obtain(remote, root / path, remedy)
        said = f"{file} is not there, and torchvision cannot read the published files in {root}"
        remedy += ", or run once with a network connection"
        with failing(said, remedy):  # a damaged file, a full disk
            from torchvision import datasets  # slow to import, and only needed once

            cls = getattr(datasets, kind)
            train, test = (cls(root, train=part, download=True) for part in (True, False))
        return {
            "x_train": np.asarray(train.data), "y_train": np.asarray(train.targets, dtype=np.int64),
            "x_test": np.asarray(test.data), "y_test": np.asarray(test.targets, dtype=np.int64),
        }  # fmt: skip


def decoded(
    files: Sequence[Path], side: int | None = None, upright: bool = False
) -> Iterator[Pixels]:
    """The images of `read_image` in order; all cores work, and few are in memory at a time."""
    with ThreadPoolExecutor(cores()) as pool:
        for first in range(0, len(files), _CHUNK):
            yield from pool.map(
                partial(read_image, side=side, upright=upright), files[first : first + _CHUNK]
            )


def read_image(file: Path, side: int | None = None, upright: bool = False) -> Pixels:
    """The pixels (H, W, 3) of an image file, in colour, as a square of `side` about its middle.

    With `upright` it is turned as the camera says, which torchvision does not do.
    """
    remedy = "put a sound one in its place"
    with failing(f"{file}: the file is not a readable image", remedy), Image.open(file) as image:
        if image.mode[0] in "IF":  # `convert` would cut its values off at 255
            raise ValueError(f"mode {image.mode}: its pixels have more than 8 bits")
        pixels = (ImageOps.exif_transpose(image) if upright else image).convert("RGB")
    if side is not None:
        pixels = ImageOps.fit(pixels, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(pixels)
