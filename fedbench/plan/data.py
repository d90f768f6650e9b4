"""The data sets of a plan: what each is called on disk, its size, and the files it is read from."""

import json
from functools import cache
from pathlib import Path

from fedbench.base import registry
from fedbench.base.digest import digest
from fedbench.base.errors import FedbenchError
from fedbench.spec import Choice

_USUAL = (10_000, 2_000)  # samples of a data set whose size is not known


def data_key(choice: Choice) -> str:
    """A data set's name, and with parameters a hash of them, as in 'file-0123456789ab'."""
    return f"{choice.name}-{digest(choice.params)}" if choice.params else choice.name


def samples(choice: Choice, folder: Path) -> tuple[int, int]:
    """Training and test samples; a data set that does not declare them is read from `folder`.

    Raises `FedbenchError` if it cannot be read.
    """
    return _samples(choice.name, json.dumps(choice.params), folder)


def assumed_samples(choice: Choice) -> tuple[int, int]:
    """Training and test samples as declared; where they are not, a guess without reading a file."""
    try:
        return _declared(choice.name, json.dumps(choice.params)) or _USUAL
    except FedbenchError:  # what is wrong with it is said by the job that plans
        return _USUAL


@cache
def _samples(name: str, params: str, folder: Path) -> tuple[int, int]:
    declared = _declared(name, params)
    if declared is not None:
        return declared
    dataset = registry.build("dataset", name, json.loads(params)).load(folder)
    return len(dataset.y_train), len(dataset.y_test)


@cache
def _declared(name: str, params: str) -> tuple[int, int] | None:
    declared: tuple[int, int] | None = registry.build("dataset", name, json.loads(params)).samples()
    return declared


def files(choice: Choice, folder: Path) -> tuple[Path, ...]:
    """The existing files of the user's that the data set is read from.

    A missing file is reported by the job that loads the data.
    """
    source = registry.build("dataset", choice.name, choice.params)
    return tuple(file for file in source.files(folder) if file.exists())
