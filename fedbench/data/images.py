"""Public image sets: one npz file each, made once if it is missing; photographs, decoded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists, read_text, sha256_of
from fedbench.data import archive
from fedbench.data.checks import check_all_classes
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.download import Remote, obtain

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class ImageSet:
    """What an image set must look like, and its class in torchvision ('' if there is none).

    `archives` are the files that torchvision reads, by path in its folder. They are downloaded
    here, since torchvision might use plain http and checks them by md5 only.
    """

    name: str
    torchvision: str
    sample: tuple[int, ...]  # (H, W) or (H, W, channels)
    classes: int
    normalisation: Normalisation
    archives: Mapping[str, Remote] = field(default_factory=dict)


def load_images(
    images: ImageSet, folder: Path, make: Callable[[], archive.Arrays] | None = None
) -> Dataset:
    """Read `<folder>/<name>.npz`; if it is missing, write what `make` or torchvision gives.

    Where the images are not exactly the published ones, a sentence in `<name>.deviation.txt` beside
    it says so; it is in the record of each run, and on the pages that show the run.
    """
    file = folder / f"{images.name}.npz"
    if not exists(file):
        archive.write(file, make() if make else _fetch(images, file))
    arrays = archive.read(file, images.name)
    where = f"{images.name} ({file})"
    for part in ("x_train", "x_test"):
        _check_pixels(images, where, part, arrays[part])
    origin = {"source": "npz", "file": str(file), "sha256": sha256_of(file)}
    note = folder / f"{images.name}.deviation.txt"
    origin |= {"deviation": " ".join(read_text(note).split())} if exists(note) else {}
    x, y, x_test, y_test = (arrays[field] for field in archive.FIELDS)
    dataset = Dataset(
        images.name, x, y, x_test, y_test,
        classes=images.classes, origin=origin, normalisation=images.normalisation,
    )  # fmt: skip
    # In a file of CIFAR-10 saved under CIFAR-100's name every label is valid; only a count tells.
    labels = set(dataset.y_train.tolist())
    check_all_classes(f"{where}: y_train has", labels, images.name, images.classes)
    return dataset


def _check_pixels(images: ImageSet, where: str, field: str, x: archive.Array) -> None:
    if x.dtype != np.uint8:
        raise FedbenchError(
            f"{where}: {field} has dtype {x.dtype}; images of {images.name} must be uint8"
        )
    if x.shape[1:] != images.sample:
        raise FedbenchError(
            f"{where}: {field} has samples of shape {x.shape[1:]}; "
            f"images of {images.name} must be {images.sample}"
        )


def _fetch(images: ImageSet, file: Path) -> archive.Arrays:
    root = file.parent / "torchvision"
    for name, remote in images.archives.items():
        fields = ", ".join(archive.FIELDS)
        obtain(remote, root / name, f"put it there, or {file.name} with {fields} beside its folder")
    remedy = (
        f"put an npz file with {', '.join(archive.FIELDS)} there, or run once with a network "
        "connection to let torchvision fetch it"
    )
    said = f"{images.name}: {file} is not there and torchvision could not download it"
    with failing(said, remedy):  # no network, a bad checksum, a full disk
        from torchvision import datasets  # slow to import, and only needed once

        kind = getattr(datasets, images.torchvision)
        train, test = (kind(root, train=part, download=True) for part in (True, False))
    return {
        "x_train": np.asarray(train.data), "y_train": np.asarray(train.targets, dtype=np.int64),
        "x_test": np.asarray(test.data), "y_test": np.asarray(test.targets, dtype=np.int64),
    }  # fmt: skip


def read_image(file: Path, side: int | None = None) -> Pixels:
    """The pixels of an image file, (H, W, 3); grey images become colour.

    With `side`, the shorter side is scaled to `side` pixels and the middle is cropped. Raises
    `FedbenchError` if the file cannot be read or decoded to its end.
    """
    try:
        with Image.open(file) as image:
            pixels = image.convert("RGB")
    except Exception as error:  # Pillow raises exceptions of many kinds on damaged files
        raise FedbenchError(
            f"{file}: the file is not a readable image ({type(error).__name__}); "
            "put a sound one in its place"
        ) from error
    if side is not None:
        pixels = ImageOps.fit(pixels, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(pixels)
