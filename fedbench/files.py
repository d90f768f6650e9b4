"""Writing files so that a reader never sees half of one."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fedbench.errors import FedbenchError


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well.

    Raises `FedbenchError` if the folder cannot be written.
    """
    require_writable(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(folder: Path) -> None:
    """Make `folder`; raises `FedbenchError` naming it if files cannot be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FedbenchError(f"{folder}: cannot write there: {error.strerror}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
