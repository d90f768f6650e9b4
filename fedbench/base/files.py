"""Writing files so that a reader never sees half of one, and reading them or saying why not."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well.

    Raises `FedbenchError` if the folder cannot be written, or the name is none for a file.
    """
    require_writable(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{path}: cannot be written: {_reason(error)}") from None
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
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{folder}: cannot write there: {_reason(error)}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_text(path: Path) -> str:
    """A text file; raises `FedbenchError` naming it if it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FedbenchError(f"{path}: not UTF-8 text (byte {error.start + 1})") from None
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{path}: cannot be read ({_reason(error)})") from None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file with a mapping; raises `FedbenchError` naming it if it is none."""
    text = read_text(path)
    try:
        found = json.loads(text)
    except RecursionError:
        raise FedbenchError(f"{path}: not valid JSON: it is nested too deeply") from None
    except ValueError as error:  # no JSON, or a number of thousands of digits
        raise FedbenchError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise FedbenchError(f"{path}: must be a mapping of fields, not {type(found).__name__}")
    return found


def exists(path: Path) -> bool:
    """Whether something is there; nothing is under a name longer than the system takes."""
    return os.path.exists(path)


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that fit a pattern, sorted; none where there is no folder."""
    return sorted(folder.glob(pattern)) if os.path.isdir(folder) else []


def _reason(error: Exception) -> str:
    """What the system says, or Python of a name that it would not even ask for."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
