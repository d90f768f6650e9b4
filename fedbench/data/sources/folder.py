"""Folder: images of the user's, one folder per class, or per client and class."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural
from fedbench.base.errors import FedbenchError
from fedbench.base.processes import cores
from fedbench.data.dataset import Dataset
from fedbench.data.images import read_image
from fedbench.data.source import Source
from fedbench.data.sources.file import different, numbered, set_apart

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


class _Listing(NamedTuple):
    """Images, and by their folders' names what they show and whose they are."""

    files: list[Path]
    classes: NDArray[np.str_]
    owners: NDArray[np.str_]


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
        where = f"folder ({home})"
        origin = {"source": "image folders", "file": str(home)}
        if (home / "train").is_dir() and (home / "test").is_dir():
            train, test = self._listing(home / "train"), self._listing(home / "test")
        else:
            every = self._listing(home)
            strata = every.classes if self.by == "class" else every.owners
            apart = set_apart(strata, self.test, self.seed)
            train, test = _some(every, ~apart), _some(every, apart)
            origin["test set"] = f"{self.test:g} of every {self.by}, drawn by seed {self.seed}"
        classes = different(f"{where}: classes", train.classes)
        y, y_test = (numbered(f"{where}: classes", x.classes, classes) for x in (train, test))
        owners = np.unique(np.concatenate([train.owners, test.owners]))
        of, of_test = (np.searchsorted(owners, x.owners).astype(np.int64) for x in (train, test))
        with ThreadPoolExecutor(cores()) as pool:
            decode = partial(pool.map, partial(read_image, side=self.side))
            x, x_test = (np.stack([*decode(each.files)]) for each in (train, test))
        told = self.by == "client"
        return Dataset(
            "folder", x, y, x_test, y_test, classes=len(classes),
            origin=origin | {"labels": ", ".join(map(str, classes))},
            groups=of if told else None, groups_test=of_test if told else None,
        )  # fmt: skip

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The images that there are now."""
        home = folder / Path(self.path).expanduser()
        return tuple(sorted(f for f in home.rglob("*") if f.suffix.lower() in _ENDINGS))

    def _listing(self, home: Path) -> _Listing:
        pattern, depth = ("*/*", "<class>") if self.by == "class" else ("*/*/*", "<client>/<class>")
        files = sorted(f for f in home.glob(pattern) if f.suffix.lower() in _ENDINGS)
        if not files:
            raise FedbenchError(f"folder: {home} has no images as {depth}/<image>")
        names = [file.parts for file in files]
        owners = [part[-3] if self.by == "client" else "" for part in names]
        return _Listing(files, np.array([part[-2] for part in names]), np.array(owners))


def _some(every: _Listing, chosen: NDArray[np.bool_]) -> _Listing:
    files = [file for file, on in zip(every.files, chosen, strict=True) if on]
    return _Listing(files, every.classes[chosen], every.owners[chosen])
