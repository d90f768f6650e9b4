"""Folders of images, those that Hugging Face's library saved, and LEAF's files of real users."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt, Lt

from fedbench.base import registry
from fedbench.base.checks import Count, Natural
from fedbench.base.errors import FedbenchError, at, failing, require_among
from fedbench.base.files import sha256_of
from fedbench.data.dataset import Dataset
from fedbench.data.image_sets import decoded
from fedbench.data.npz_and_csv_files import Samples, dataset, different, numbered, split
from fedbench.data.source import Source

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Folder(Source):
    """Images below `path`, relative to the data folder or absolute, in <class>/<image>.

    With `by: client` in <client>/<class>/<image>: clients are the data's groups (see the partition
    `natural`). Where `path` has the folders `train` and `test`, these hold such folders; else the
    share `test` of every class, or of every client, is drawn by `seed` to test on. Each image is
    turned as its camera says and scaled to `side` × `side` pixels in colour, cut to a square about
    its middle. Names that begin with a dot are left out.
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
                strata = parts[0].y if self.by == "class" else parts[0].groups
                parts = split(parts[0], strata, self.test, self.seed)
                origin["test set"] = f"{self.test:g} of every {self.by}, drawn by seed {self.seed}"
            elif (self.test, self.seed) != (Folder.test, Folder.seed):  # it would make other runs
                raise FedbenchError("test and seed have no effect, as there are train/ and test/")
            classes, parts = numbered(["classes", "classes"], parts)
        parts = [
            each._replace(x=np.stack([*decoded(each.x, self.side, upright=True)])) for each in parts
        ]
        origin["labels"] = ", ".join(map(str, classes))
        return dataset("folder", *parts, origin=origin, classes=len(classes))

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The images that there are now."""
        home = folder / Path(self.path).expanduser()
        return tuple(sorted(f for f in home.rglob("*") if f.suffix.lower() in _ENDINGS))

    def _listed(self, home: Path) -> Samples:
        """The files of images, and by their folders' names what they show and whose they are."""
        pattern, depth = ("*/*", "<class>") if self.by == "class" else ("*/*/*", "<client>/<class>")
        found = (f for f in home.glob(pattern) if f.suffix.lower() in _ENDINGS)
        files = sorted(f for f in found if "/." not in f"/{f.relative_to(home).as_posix()}")
        if not files:
            raise FedbenchError(f"folder: {home} has no images as {depth}/<image>")
        classes = np.array([file.parts[-2] for file in files])
        owners = np.array([file.parts[-3] for file in files]) if self.by == "client" else None
        return Samples(np.array(files, dtype=object), classes, owners)


@dataclass(frozen=True)
class HuggingFace(Source):
    """The data set that `DatasetDict.save_to_disk(path)` wrote, below the data folder or absolute.

    Its splits `train` and `test` are read; `x` names the column with pictures or lists of numbers,
    `y` the one with classes, and `group` one that says whose a row is, if there is such a column:
    the partition `natural` makes clients of them. Nothing is downloaded. It needs the extra
    `huggingface`.
    """

    EXTRA = "huggingface"

    path: str = ""
    x: str = "image"
    y: str = "label"
    group: str = ""
    channels: Literal["first", "last"] | None = None  # of images; None: last, if that is plain

    def load(self, folder: Path) -> Dataset:
        """Read both splits; raises `FedbenchError` on anything it cannot train on."""
        registry.require_extra("huggingface", "data set 'huggingface'")
        from datasets import load_from_disk

        home, parts = folder / Path(self.path).expanduser(), list[Samples]()
        remedy = "`path` must name what `DatasetDict.save_to_disk` wrote, with samples of one shape"
        with at(f"huggingface ({home})"), failing("cannot be read", remedy):
            splits = {**load_from_disk(str(home))}
            for split in ("train", "test"):
                require_among("splits", "split", split, splits)
                for name in filter(None, (self.x, self.y, self.group)):
                    require_among(split, "column", name, splits[split].column_names)
                cells = (splits[split][name] for name in (self.x, self.y))
                x, y = (np.stack([_pixels(cell) for cell in column]) for column in cells)
                owners = np.asarray(splits[split][self.group]).astype(str) if self.group else None
                parts.append(Samples(x if x.dtype == np.uint8 else x.astype(np.float32), y, owners))
            classes, parts = numbered([self.y, self.y], parts)
        origin = {"source": "Hugging Face", "file": str(home)}
        return dataset(
            "huggingface", *parts, origin=origin, classes=len(classes), channels=self.channels
        )

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The folder's description of its splits."""
        return (folder / Path(self.path).expanduser() / "dataset_dict.json",)


def _pixels(cell: Any) -> Any:
    """An image as numbers, which for one of a palette are places in it, or what else a cell has."""
    coded = getattr(cell, "mode", "") in ("P", "PA", "CMYK")
    return np.asarray(cell.convert("RGB") if coded else cell)


_SIDE = 28  # pixels of FEMNIST


@dataclass(frozen=True)
class Leaf(Source):
    """FEMNIST's characters of 3,550 writers, or the next letter in Shakespeare's plays by role.

    Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018. The folder leaf/<name> of the
    data folder holds `train/*.json` and `test/*.json` as LEAF's preprocess.sh writes them, with
    `-t sample`, so that every user has samples in both. FEMNIST: 28 × 28 grey pixels from 0 to 1,
    62 classes. Shakespeare: 80 letters, and the class is the one that follows. Users are the data's
    groups: see the partition `natural`.
    """

    SHAPE = (1, _SIDE, _SIDE)  # of FEMNIST

    name: Literal["femnist", "shakespeare"] = "femnist"

    def load(self, folder: Path) -> Dataset:
        """Read the files; raises `FedbenchError` if there are none, or on one that is damaged."""
        home = folder / "leaf" / self.name
        parts = [self._read(home, subset) for subset in ("train", "test")]
        sha256 = ", ".join(map(sha256_of, sorted(home.glob("*/*.json"))))
        origin = {"source": "LEAF", "file": str(home), "sha256": sha256}
        letters, sizes = self.name == "shakespeare", dict[str, Any](classes=62)
        what = "texts, with a letter as label" if letters else f"{_SIDE**2} numbers"
        with failing(f"{home}: samples must be {what}"):
            if letters:
                parts, sizes = _numbered_letters(home, parts)
            for k, each in enumerate(() if letters else parts):
                x = np.asarray(each.x, np.float32).reshape(-1, _SIDE, _SIDE)
                parts[k] = each._replace(x=x, y=np.asarray(each.y, np.int64))
        return dataset(self.name, *parts, origin=origin, **sizes)

    def _read(self, home: Path, subset: str) -> Samples:
        """The samples of a subset, those of one user after those of another."""
        files = sorted((home / subset).glob("*.json"))
        if not files:
            raise FedbenchError(
                f"leaf: {home / subset} has no JSON files; run LEAF's data/{self.name}/"
                "preprocess.sh -s niid --sf 1.0 -k 0 -t sample (github.com/TalwalkarLab/leaf), and "
                f"copy its data/train and data/test into {home}"
            )
        samples = Samples([], [], [])
        for file in files:
            with failing(f"{file}: is not a file of LEAF"):
                content = json.loads(file.read_text(encoding="utf-8"))
                for name in content["users"]:
                    held = content["user_data"][name]
                    if len(held["x"]) != len(held["y"]):
                        counts = f"{len(held['x'])} samples, {len(held['y'])} labels"
                        raise FedbenchError(f"{file}: user '{name}' has {counts}")
                    samples.x.extend(held["x"])
                    samples.y.extend(held["y"])
                    samples.groups.extend([name] * len(held["x"]))
        if not samples.x:
            raise FedbenchError(f"{home / subset}: its files hold no samples")
        return samples._replace(groups=np.array(samples.groups))


def _numbered_letters(home: Path, parts: list[Samples]) -> tuple[list[Samples], dict[str, Any]]:
    widths = {len(text) for each in parts for text in each.x}
    if len(widths) > 1 or any(len(letter) != 1 for each in parts for letter in each.y):
        raise FedbenchError(f"{home}: texts must be equally long, and labels one letter")
    known = np.unique([*"".join(text for each in parts for text in each.x)])
    classes = np.unique([*parts[0].y, *parts[1].y])
    found = []
    for each in parts:
        x = 1 + np.searchsorted(known, [*"".join(each.x)]).reshape(len(each.x), -1)
        found.append(each._replace(x=x, y=np.searchsorted(classes, each.y)))
    return found, {"classes": len(classes), "vocabulary": len(known) + 1}
