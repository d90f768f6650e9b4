"""Hugging Face: a data set that was saved to disk by the library `datasets`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.base import extras
from fedbench.base.errors import FedbenchError, failing, require_among
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source
from fedbench.data.sources.file import different, numbered


@dataclass(frozen=True)
class HuggingFace(Source):
    """The data set that `Dataset.save_to_disk(path)` wrote, below the data folder or absolute.

    Its splits `train` and `test` are read; `x` names the column with pictures or lists of numbers,
    `y` the one with classes, and `group` one that says whose a row is, if there is such a column:
    the partition `natural` makes clients of them. Nothing is downloaded. It needs the extra
    `huggingface`.
    """

    EXTRA: ClassVar[str] = "huggingface"

    path: str = ""
    x: str = "image"
    y: str = "label"
    group: str = ""
    channels: Literal["first", "last"] | None = None  # of images; None: last, if that is plain

    def load(self, folder: Path) -> Dataset:
        """Read both splits; raises `FedbenchError` on anything it cannot train on."""
        home = folder / Path(self.path).expanduser()
        where = f"huggingface ({home})"
        splits = _loaded(home, where)
        columns = [each for each in (self.x, self.y, self.group) if each]
        for split in ("train", "test"):
            require_among(f"{where}: splits", "split", split, splits)
            for name in columns:
                require_among(f"{where}: {split}", "column", name, splits[split].column_names)
        x, labels = (
            [np.stack([np.asarray(cell) for cell in splits[s][name]]) for s in ("train", "test")]
            for name in (self.x, self.y)
        )
        classes = different(f"{where}: {self.y}", labels[0])
        y = [numbered(f"{where}: {self.y}", each, classes) for each in labels]
        groups = self._groups(splits)
        return Dataset(
            "huggingface", _plain(x[0]), y[0], _plain(x[1]), y[1], classes=len(classes),
            origin={"source": "Hugging Face", "file": str(home)},
            channels=self.channels, groups=groups[0], groups_test=groups[1],
        )  # fmt: skip

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The folder's description of its splits."""
        return (folder / Path(self.path).expanduser() / "dataset_dict.json",)

    def _groups(self, splits: Any) -> list[NDArray[np.int64] | None]:
        if not self.group:
            return [None, None]
        words = [np.asarray(splits[split][self.group]).astype(str) for split in ("train", "test")]
        names = np.unique(np.concatenate(words))
        return [np.searchsorted(names, each).astype(np.int64) for each in words]


def _plain(x: NDArray[Any]) -> NDArray[Any]:
    """Pixels as they are, and other numbers in single precision."""
    return x if x.dtype == np.uint8 else x.astype(np.float32)


def _loaded(home: Path, where: str) -> Any:
    extras.require("huggingface", "data set 'huggingface'")
    from datasets import load_from_disk

    if not home.is_dir():
        raise FedbenchError(f"{where}: there is no such folder; `path` must name one")
    with failing(f"{where}: cannot be read"):
        return load_from_disk(str(home))
