"""Writing a file too large to be held in memory: bit by bit, by one process at a time."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fedbench.base.errors import FedbenchError
from fedbench.base.files import require_writable


@contextlib.contextmanager
def growing(path: Path) -> Iterator[BinaryIO]:
    """A stream into a part beside `path` that takes its place when the block ends well.

    What a killed process left of a part is written anew by the next, so parts do not pile up.
    Raises `FedbenchError` if the disk is full or cannot be written, or another process writes it.
    """
    require_writable(path.parent)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("ab") as stream:
            _lock(stream, path)
            stream.truncate(0)
            try:
                yield stream
                stream.flush()
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise FedbenchError(f"{path}: cannot be written ({error.strerror})") from error


def _lock(stream: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given up when the process ends
    except BlockingIOError:
        raise FedbenchError(f"{path}: another process is writing it; wait for that") from None
