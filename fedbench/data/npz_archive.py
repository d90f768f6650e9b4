"""Reads and writes the file of a data set: `<name>.npz` with four arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbench.base.errors import FedbenchError, at, failing
from fedbench.base.files import atomic

FIELDS = ("x_train", "y_train", "x_test", "y_test")
Arrays = Mapping[str, Any]


def read(file: Path, name: str, fewer: Sequence[str] = (), optional: Sequence[str] = ()) -> Arrays:
    """The arrays `FIELDS` of an npz file, or `fewer` if it has only these; `optional` ones."""
    remedy = f"it must hold {', '.join(FIELDS)}; delete it or put a sound one in its place"
    arrays = {}
    with at(f"{name} ({file})"):
        with failing("the file is not a readable npz archive", remedy):
            archive = np.load(file, allow_pickle=False)  # objects in it might run code
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise FedbenchError("the file holds a single array; it must be an npz archive")
        with archive:
            held = archive.files
            some = fewer and set(fewer) <= set(held) and not set(FIELDS) <= set(held)
            wanted = fewer if some else FIELDS
            for field in (*wanted, *(each for each in optional if each in held)):
                if field not in held:
                    raise FedbenchError(
                        f"{field} is missing; the file must hold {', '.join(wanted)}; it holds "
                        f"{', '.join(held) or 'nothing'}"
                    )
                with failing(f"{field} cannot be read", "it must be a plain numeric array"):
                    arrays[field] = archive[field]
                if not isinstance(arrays[field], np.ndarray):
                    raise FedbenchError(f"{field} is not a NumPy array, which it must be")
    return arrays


def write(file: Path, arrays: Arrays) -> None:
    """Write the npz file atomically: no reader sees a part of it."""
    with atomic(file) as scratch, scratch.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{field: arrays[field] for field in FIELDS})
