"""Where data sets come from: the base of every source, and the folder they lie in."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from fedbench.base import registry
from fedbench.base.checked import Checked
from fedbench.data.dataset import Dataset


@dataclass(frozen=True)
class Source(Checked, ABC):
    """A place data come from: one file in `fedbench/data/sources`, found by its class name."""

    @abstractmethod
    def load(self, folder: Path) -> Dataset:
        """Read the data set from `folder` (see `data_folder`), fetched into it first if need be."""

    def samples(self) -> tuple[int, int] | None:
        """Training and test samples, before anything is read; None if that cannot be known."""
        return getattr(self, "SAMPLES", None)

    def files(self, folder: Path) -> tuple[Path, ...]:
        """Files of the user's own that may be replaced by others under the same name."""
        return ()


def data_folder(folder: Path | str | None = None) -> Path:
    """Take the folder given, else the environment's FEDBENCH_DATA, else the user's cache folder."""
    chosen = (
        folder or os.environ.get("FEDBENCH_DATA") or user_cache_dir("fedbench", appauthor=False)
    )
    return Path(chosen).expanduser()


def load_data(name: str, params: dict[str, Any], folder: Path | None) -> Dataset:
    """The data set of a name and its parameters; raises `FedbenchError` if it cannot be read."""
    source = registry.build("dataset", name, params)
    found: Dataset = source.load(data_folder(folder))
    return found
