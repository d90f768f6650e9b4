"""Writes files so that no reader sees half of one; reads them, or says why that is impossible."""

import contextlib
import hashlib
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError, mapping_of
from fedbench.base.processes import alive

PARTIAL = ".part"  # how the names of files end that are being written
exists = os.path.exists  # False for names that the system refuses, unlike `Path.exists`


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path that replaces `path` if nothing is raised; `FedbenchError` if it cannot."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(PARTIAL, begins(path.name), path.parent)
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{path}: cannot be written: {_reason(error)}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise FedbenchError(f"{path}: cannot be written: {_reason(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(folder: Path) -> None:
    """Create `folder` if needed; raises `FedbenchError` if no file can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{folder}: cannot write there: {_reason(error)}") from None


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a mapping as a JSON file atomically."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_text(path: Path) -> str:
    """The content of a text file; raises `FedbenchError` if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FedbenchError(f"{path}: not UTF-8 text (byte {error.start + 1})") from None
    except (OSError, ValueError) as error:
        raise FedbenchError(f"{path}: cannot be read ({_reason(error)})") from None


def sha256_of(path: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file; raises `FedbenchError` if the file holds anything else."""
    text = read_text(path)
    try:
        content = json.loads(text)
    except (RecursionError, ValueError) as error:  # as of a number of thousands of digits
        raise FedbenchError(f"{path}: not valid JSON: {error}") from None
    return mapping_of(content, path)


def at_home(text: str) -> str:
    """The text with the home folder for a `~` that begins a path, also after a `=`."""
    return re.sub(r"(^|=)~(?=/|$)", lambda found: found[1] + os.path.expanduser("~"), text)


def matching(folder: Path, pattern: str) -> list[Path]:
    """The sorted files of a folder, if it is there; only a dot matches the dot of a hidden file."""
    found = sorted(folder.glob(pattern)) if os.path.isdir(folder) else []
    return [each for each in found if pattern[0] == "." or each.name[0] != "."]


def _reason(error: Exception) -> str:
    """The system's reason, or Python's for a name that Python itself refuses."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def begins(name: str) -> str:
    """How the name of a file begins, with this process in it, until it is written as `name`."""
    return f".{name}.{os.getpid()}@{socket.gethostname()}."


def abandoned(file: Path) -> bool:
    """Whether a process of this machine that lives no more was writing the file."""
    if not (file.name.startswith(".") and file.suffix == PARTIAL):
        return False
    begun, _, rest = file.name.rpartition("@")
    pid = begun.rpartition(".")[2]
    here = rest.startswith(f"{socket.gethostname()}.")
    with contextlib.suppress(OSError):  # it was written to its end, or deleted
        return here and pid.isdecimal() and not alive(int(pid), by=file.stat().st_mtime)
    return False


def delete_abandoned(folder: Path) -> None:
    """Delete what killed processes of this machine had not written to its end below the folder."""
    for file in folder.rglob(f".*{PARTIAL}"):
        if abandoned(file):
            with contextlib.suppress(OSError):
                file.unlink()
