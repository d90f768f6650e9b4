"""The data sets of a plan: what each is called on disk, its size, and the files it is read from."""

import json
from functools import cache
from pathlib import Path

from fedbench.base import registry
from fedbench.base.digest import digest
from fedbench.spec import Choice


def data_key(choice: Choice) -> str:
    """A data set's name, and with parameters a hash of them, as in 'file-0123456789ab'."""
    return f"{choice.name}-{digest(choice.params)}" if choice.params else choice.name


def samples(choice: Choice, folder: Path) -> tuple[int, int]:
    """Training and test samples; a data set that does not declare them is read from `folder`.

    Raises `FedbenchError` if it cannot be read.
    """
    return _samples(choice.name, json.dumps(choice.params), folder)


@cache
def _samples(name: str, params: str, folder: Path) -> tuple[int, int]:
    source = registry.build("dataset", name, json.loads(params))
    declared: tuple[int, int] | None = source.samples()
    if declared is not None:
        return declared
    found = source.load(folder)
    return len(found.y_train), len(found.y_test)


def files(choice: Choice, folder: Path) -> tuple[Path, ...]:
    """The existing files of the user's that the data set is read from.

    A missing file is reported by the job that loads the data.
    """
    source = registry.build("dataset", choice.name, choice.params)
    return tuple(file for file in source.files(folder) if file.exists())
