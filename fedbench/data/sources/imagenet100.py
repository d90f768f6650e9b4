"""ImageNet-100: some 126,000 + 5,000 photographs of a hundred classes of ImageNet."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.checked import Count
from fedbench.data.archive import short
from fedbench.data.dataset import Dataset, Normalisation
from fedbench.data.photographs import read
from fedbench.data.source import Source
from fedbench.errors import FedbenchError
from fedbench.files import atomic, write_text

_USUAL = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_ENDINGS = (".jpeg", ".jpg", ".png")
_LAYOUT = "train/<class>/*.JPEG and val/<class>/*.JPEG (or train.X1 … and val.X in their places)"

Listing = Sequence[tuple[Path, int]]


@dataclass(frozen=True)
class ImageNet100(Source):
    """Photographs of 100 classes (Tian, Krishnan & Isola, ECCV 2020), side×side colour.

    Each is scaled so that its shorter side is `side` and cropped in the middle. The pixels are kept
    in `<folder>/imagenet100-<side>/` and mapped from disk: at 224 they take 19 GB. Classes are
    numbered in the order of their folders' names; the validation images are the test set.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (126_689, 5_000)  # training and test samples
    SHAPE: ClassVar[tuple[int, int, int]] = (3, 224, 224)  # channels, height, width
    CLASSES: ClassVar[int] = 100

    side: Count = 224

    def load(self, folder: Path) -> Dataset:
        """Read the pixels kept, or decode `<folder>/imagenet100/` once."""
        kept = folder / f"imagenet100-{self.side}"
        if not (kept / "done").exists():
            _decode(folder / "imagenet100", kept, self.side)
        parts = [_mapped(kept, part) for part in ("train", "test")]
        origin = {"source": "folder", "file": str(kept), "sha256 of listing": _note(kept)}
        return Dataset(
            "imagenet100", *parts[0], *parts[1],
            classes=self.CLASSES, origin=origin, normalisation=_USUAL,
        )  # fmt: skip


def _decode(source: Path, kept: Path, side: int) -> None:
    """Write both parts; a note at the end says that they are whole: a killed one starts again."""
    listings = {"train": _listing(source, "train"), "test": _listing(source, "val")}
    classes = sorted({file.parent.name for file, _ in listings["train"]})
    if len(classes) != ImageNet100.CLASSES:
        raise FedbenchError(
            f"imagenet100: {source} has {len(classes)} classes; it must hold 100 as {_LAYOUT}"
        )
    for part, listing in listings.items():
        _write(kept, part, listing, {name: label for label, name in enumerate(classes)}, side)
    names = "\n".join(
        str(file.relative_to(source)) for part in listings.values() for file, _ in part
    )
    write_text(kept / "done", hashlib.sha256(names.encode()).hexdigest() + "\n")


def _listing(source: Path, part: str) -> Listing:
    """The images of a part, by class folder and name, with their sizes in bytes."""
    tops = sorted(path for path in source.glob(f"{part}*") if path.is_dir())
    files = [file for top in tops for file in top.glob("*/*") if file.suffix.lower() in _ENDINGS]
    if not files:
        raise FedbenchError(
            f"imagenet100: {source / part} holds no image; put the data there as {_LAYOUT}"
        )
    return [(f, f.stat().st_size) for f in sorted(files, key=lambda f: (f.parent.name, f.name))]


def _write(kept: Path, part: str, listing: Listing, classes: dict[str, int], side: int) -> None:
    """Decode one image after the other straight into a file; they are never all in memory."""
    labels = np.array([_label(file, classes) for file, _ in listing], dtype=np.int64)
    with atomic(kept / f"x_{part}.npy") as scratch:
        shape = (len(listing), side, side, 3)
        pixels = np.lib.format.open_memmap(scratch, mode="w+", dtype=np.uint8, shape=shape)
        for place, (file, _) in enumerate(listing):
            pixels[place] = read(file, side)
        pixels.flush()
    with atomic(kept / f"y_{part}.npy") as scratch, scratch.open("wb") as stream:
        np.save(stream, labels)


def _label(file: Path, classes: dict[str, int]) -> int:
    if file.parent.name not in classes:
        raise FedbenchError(f"imagenet100: {file}: class {file.parent.name} has no training image")
    return classes[file.parent.name]


def _mapped(kept: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels mapped from disk (copied only where written to) and labels."""
    try:
        x = np.load(kept / f"x_{part}.npy", mmap_mode="c", allow_pickle=False)
        y = np.load(kept / f"y_{part}.npy", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FedbenchError(
            f"imagenet100: {kept}: the {part} arrays cannot be read ({short(error)}); "
            "delete this folder to decode the images again"
        ) from error
    return x, y


def _note(kept: Path) -> str:
    return (kept / "done").read_text(encoding="utf-8").strip()
