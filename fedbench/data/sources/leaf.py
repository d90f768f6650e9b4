"""LEAF: data of real users, in the JSON files that LEAF's scripts write."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import sha256_of
from fedbench.data.dataset import Dataset
from fedbench.data.samples import Samples, owned
from fedbench.data.source import Source

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

    SHAPE: ClassVar[tuple[int, int, int]] = (1, _SIDE, _SIDE)  # of FEMNIST

    name: Literal["femnist", "shakespeare"] = "femnist"

    def load(self, folder: Path) -> Dataset:
        """Read the files; raises `FedbenchError` if there are none, or on one that is damaged."""
        home = folder / "leaf" / self.name
        parts = [self._read(home, subset) for subset in ("train", "test")]
        sha256 = ", ".join(map(sha256_of, sorted(home.glob("*/*.json"))))
        origin = {"source": "LEAF", "file": str(home), "sha256": sha256}
        x, y, sizes = (_pixels if self.name == "femnist" else _letters)(home, parts)
        return Dataset(self.name, x[0], y[0], x[1], y[1], origin=origin, **owned(*parts), **sizes)

    def _read(self, home: Path, subset: str) -> Samples:
        """The samples of a subset, those of one user after those of another."""
        files = sorted((home / subset).glob("*.json"))
        if not files:
            raise FedbenchError(
                f"leaf: {home / subset} has no JSON files; run LEAF's data/{self.name}/"
                "preprocess.sh (github.com/TalwalkarLab/leaf) with `-s niid --sf 1.0 -k 0 -t "
                f"sample`, and copy its data/train and data/test into {home}"
            )
        x: list[Any] = []
        y: list[Any] = []
        owners: list[str] = []
        for file in files:
            with failing(f"{file}: is not a file of LEAF"):
                content = json.loads(file.read_text(encoding="utf-8"))
                for name in content["users"]:
                    held = content["user_data"][name]
                    x.extend(held["x"])
                    y.extend(held["y"])
                    owners.extend([name] * len(held["x"]))
        if not x or len(x) != len(y):
            raise FedbenchError(f"{home / subset}: {len(x)} samples, {len(y)} labels")
        return Samples(x, y, np.array(owners))


def _pixels(home: Path, parts: list[Samples]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    with failing(f"{home}: samples must be {_SIDE**2} numbers"):
        x = [np.asarray(each.x, np.float32).reshape(-1, _SIDE, _SIDE) for each in parts]
        y = [np.asarray(each.y, np.int64) for each in parts]
    return x, y, {"classes": 62}


def _letters(home: Path, parts: list[Samples]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    widths = {len(text) for each in parts for text in each.x}
    if len(widths) > 1 or any(len(letter) != 1 for each in parts for letter in each.y):
        raise FedbenchError(f"{home}: texts must be equally long, and labels one letter")
    letters = [np.array(list("".join(each.x))) for each in parts]
    known, classes = np.unique(np.concatenate(letters)), np.unique([*parts[0].y, *parts[1].y])
    x = [
        1 + np.searchsorted(known, each).reshape(len(part.x), -1)
        for each, part in zip(letters, parts, strict=True)
    ]
    y = [np.searchsorted(classes, each.y) for each in parts]
    return x, y, {"classes": len(classes), "vocabulary": len(known) + 1}
