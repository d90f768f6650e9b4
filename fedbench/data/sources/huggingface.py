"""Hugging Face: a data set that was saved to disk by the library `datasets`."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from fedbench.base import extras
from fedbench.base.errors import FedbenchError, at, failing, require_among
from fedbench.data.dataset import Dataset
from fedbench.data.samples import Samples, numbered, owned
from fedbench.data.source import Source


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
        extras.require("huggingface", "data set 'huggingface'")
        from datasets import load_from_disk

        home, parts = folder / Path(self.path).expanduser(), []
        with at(f"huggingface ({home})"):
            if not home.is_dir():
                raise FedbenchError("there is no such folder; `path` must name one")
            with failing("cannot be read"):
                splits = load_from_disk(str(home))
            for split in ("train", "test"):
                require_among("splits", "split", split, splits)
                for name in filter(None, (self.x, self.y, self.group)):
                    require_among(split, "column", name, splits[split].column_names)
                cells = (splits[split][name] for name in (self.x, self.y))
                x, y = (np.stack([np.asarray(cell) for cell in column]) for column in cells)
                owners = np.asarray(splits[split][self.group]).astype(str) if self.group else None
                parts.append(Samples(x if x.dtype == np.uint8 else x.astype(np.float32), y, owners))
            classes, labels = numbered([self.y, self.y], parts)
        return Dataset(
            "huggingface", parts[0].x, labels[0], parts[1].x, labels[1], classes=len(classes),
            origin={"source": "Hugging Face", "file": str(home)},
            channels=self.channels, **owned(*parts),
        )  # fmt: skip

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The folder's description of its splits."""
        return (folder / Path(self.path).expanduser() / "dataset_dict.json",)
