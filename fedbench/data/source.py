"""The base of every source of data sets, the folder that they are read from, and downloads."""

import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from platformdirs import user_cache_dir

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import atomic, exists
from fedbench.data.dataset import Dataset

Remote = tuple[str, str]  # the address of a published file, and the sha256 it must have
_PATIENCE = 30  # seconds without a byte of a download


@dataclass(frozen=True)
class Source(Checked, ABC):
    """Where a data set comes from; those of fedbench are classes in `fedbench/data/sources`."""

    # What is known before loading is also read from the file itself, without import
    SAMPLES: ClassVar[tuple[int, int]]  # training and test samples
    SHAPE: ClassVar[tuple[int, ...]]  # channels, height, width, or features
    CLASSES: ClassVar[int]
    LARGEST: ClassVar[int]  # test samples of the largest class

    @abstractmethod
    def load(self, folder: Path) -> Dataset:
        """Read the data set from `folder` (see `data_folder`); download it if it is missing."""

    def samples(self) -> tuple[int, int] | None:
        """The numbers of training and test samples; None if they are unknown before loading."""
        return getattr(self, "SAMPLES", None)

    def largest_class(self) -> int | None:
        """The test samples of the class that has most; None if it is unknown before loading."""
        return getattr(self, "LARGEST", None)

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The user's files, which may be replaced by others under the same name."""
        return ()


def data_folder(folder: Path | str | None = None) -> Path:
    """The folder given, else that of the variable FEDBENCH_DATA, else the user's cache folder."""
    given = folder or os.environ.get("FEDBENCH_DATA")
    return Path(given or user_cache_dir("fedbench", appauthor=False)).expanduser()


def obtain(remote: Remote, file: Path, remedy: str, missing: Path | None = None) -> None:
    """Download a published file unless it is there; errors name what is `missing` without it."""
    if exists(file):
        return
    import pooch  # with the packages that speak to servers; rarely needed

    url, sha256 = remote
    pooch.get_logger().setLevel("WARNING")
    what = f"{missing or file} is not there and {url}"
    by = pooch.HTTPDownloader(timeout=_PATIENCE)
    later = f"{remedy}, or run once with a network connection"
    reason = failing(f"{what} could not be downloaded", later)  # no network, no such host
    with tempfile.TemporaryDirectory() as folder, reason:
        try:
            arrived = pooch.retrieve(url, sha256, file.name, folder, downloader=by)
        except ValueError:
            raise FedbenchError(f"{what} has a sha256 that is not {sha256}; {remedy}") from None
        with atomic(file) as scratch:
            shutil.copyfile(arrived, scratch)
