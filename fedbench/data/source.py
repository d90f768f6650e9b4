"""The base of every data source: a checked dataclass that loads a `Dataset`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

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
