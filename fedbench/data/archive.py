"""Reads and writes the file of a data set: `<name>.npz` with four arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import atomic

FIELDS = ("x_train", "y_train", "x_test", "y_test")
Array = NDArray[Any]
Arrays = Mapping[str, Array]


def read(file: Path, name: str, fewer: Sequence[str] = (), optional: Sequence[str] = ()) -> Arrays:
    """Read the arrays `FIELDS` of an npz file, or `fewer` where it has these and not all of them.

    Those `optional` ones that it has are read, too.
    Pickled objects are never loaded.
    """
    where = f"{name} ({file})"
    with _opened(file, where) as archive:
        held = set(archive.files)
        wanted = fewer if fewer and held >= set(fewer) and not held >= set(FIELDS) else FIELDS
        more = [field for field in optional if field in held]
        return {field: _member(archive, field, where, wanted) for field in (*wanted, *more)}


def write(file: Path, arrays: Arrays) -> None:
    """Write the npz file atomically: no reader sees a part of it."""
    with atomic(file) as scratch, scratch.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{field: arrays[field] for field in FIELDS})


def _opened(file: Path, where: str) -> Any:
    remedy = f"it must hold {', '.join(FIELDS)}; delete it or put a sound one in its place"
    with failing(f"{where}: the file is not a readable npz archive", remedy):
        archive = np.load(file, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FedbenchError(f"{where}: the file holds a single array; it must be an npz archive")
    return archive


def _member(archive: Any, field: str, where: str, wanted: Sequence[str]) -> Array:
    if field not in archive.files:
        held = ", ".join(archive.files) or "nothing"
        raise FedbenchError(
            f"{where}: {field} is missing; the file must hold {', '.join(wanted)}; it holds {held}"
        )
    with failing(f"{where}: {field} cannot be read", "it must be a plain numeric array"):
        value = archive[field]
    if not isinstance(value, np.ndarray):
        raise FedbenchError(f"{where}: {field} is not a NumPy array, which it must be")
    return value
