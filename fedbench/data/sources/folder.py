"""Folder: images of the user's, one folder per class, or per client and class."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt, Lt

from fedbench.base.checks import Count, Natural
from fedbench.base.errors import FedbenchError, at
from fedbench.data.dataset import Dataset
from fedbench.data.images import decoded
from fedbench.data.samples import Samples, different, numbered, owned, split
from fedbench.data.source import Source

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Folder(Source):
    """Images below `path`, relative to the data folder or absolute, in <class>/<image>.

    With `by: client` in <client>/<class>/<image>: clients are the data's groups (see the partition
    `natural`). Where `path` has the folders `train` and `test`, these hold such folders; else the
    share `test` of every class, or of every client, is drawn by `seed` to test on. Each image is
    scaled to `side` × `side` pixels in colour, cut to a square about its middle.
    """

    path: str = ""
    by: Literal["class", "client"] = "class"
    side: Count = 64  # pixels
    test: Annotated[float, Gt(0), Lt(1)] = 0.2
    seed: Natural = 0

    def load(self, folder: Path) -> Dataset:
        """Read all images; raises `FedbenchError` where there are none, or on a damaged one."""
        home = folder / Path(self.path).expanduser()
        origin, halves = {"source": "image folders", "file": str(home)}, ["train", "test"]
        whole = not all((home / half).is_dir() for half in halves)
        parts = [self._listed(home / half) for half in ([""] if whole else halves)]
        with at(f"folder ({home})"):
            if whole:
                different("classes", parts[0].y)
                strata = parts[0].y if self.by == "class" else parts[0].owners
                parts = split(parts[0], strata, self.test, self.seed)
                origin["test set"] = f"{self.test:g} of every {self.by}, drawn by seed {self.seed}"
            classes, (y, y_test) = numbered(["classes", "classes"], parts)
        x, x_test = (np.stack([*decoded(each.x, self.side)]) for each in parts)
        return Dataset(
            "folder", x, y, x_test, y_test, classes=len(classes),
            origin=origin | {"labels": ", ".join(map(str, classes))}, **owned(*parts),
        )  # fmt: skip

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The images that there are now."""
        home = folder / Path(self.path).expanduser()
        return tuple(sorted(f for f in home.rglob("*") if f.suffix.lower() in _ENDINGS))

    def _listed(self, home: Path) -> Samples:
        """The files of images, and by their folders' names what they show and whose they are."""
        pattern, depth = ("*/*", "<class>") if self.by == "class" else ("*/*/*", "<client>/<class>")
        files = sorted(f for f in home.glob(pattern) if f.suffix.lower() in _ENDINGS)
        if not files:
            raise FedbenchError(f"folder: {home} has no images as {depth}/<image>")
        classes = np.array([file.parts[-2] for file in files])
        owners = np.array([file.parts[-3] for file in files]) if self.by == "client" else None
        return Samples(np.array(files, dtype=object), classes, owners)
