"""Fetches a published file once and compares it with a checksum given in the code.

Addresses are https, and the checksum is a sha256, since md5 can be forged.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import IO, NamedTuple
from urllib.request import urlopen

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import atomic, exists

_PATIENCE = 30  # seconds without a byte
_CHUNK = 2**20  # bytes


class Remote(NamedTuple):
    """Where a published file is, and the sha256 it must have."""

    url: str
    sha256: str


def fetch(remote: Remote, missing: Path, layout: str) -> bytes:
    """Download a file and return its content.

    Raises `FedbenchError` if that fails; its message says that `layout`, a description of the
    content, must be put at the path `missing`.
    """
    try:
        with urlopen(remote.url, timeout=_PATIENCE) as reply:  # noqa: S310  # https, by constants
            content: bytes = reply.read()
    except Exception as error:  # no network, no such host, a broken reply: the remedy is the same
        raise FedbenchError(
            f"{missing} is not there and {remote.url} could not be downloaded ({short(error)}); "
            f"put {layout} there, or run once with a network connection"
        ) from error
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != remote.sha256:
        raise FedbenchError(
            f"{missing} is not there and {remote.url} has sha256 {checksum}, but {remote.sha256} "
            f"is expected; put {layout} there"
        )
    return content


def obtain(remote: Remote, file: Path, remedy: str = "put it there") -> None:
    """Download a large file to the path `file` unless it exists; raises `FedbenchError` as `fetch`.

    `remedy` is what its message tells the user to do.
    """
    if exists(file):
        return
    try:
        with urlopen(remote.url, timeout=_PATIENCE) as reply:  # noqa: S310  # https, by constants
            checksum = _save(reply, file, remote.sha256)
    except Exception as error:  # no network, a full disk: the remedy is the same
        raise FedbenchError(
            f"{file} is not there and {remote.url} could not be downloaded ({short(error)}); "
            f"{remedy}, or run once with a network connection"
        ) from error
    if checksum != remote.sha256:
        raise FedbenchError(
            f"{file} is not there and {remote.url} has sha256 {checksum}, but {remote.sha256} is "
            f"expected; {remedy}"
        )


def _save(reply: IO[bytes], file: Path, sha256: str) -> str:
    """Write the reply to `file` if it has this checksum; returns the checksum that it has."""
    with tempfile.TemporaryFile() as stream:
        shutil.copyfileobj(reply, stream, _CHUNK)
        stream.seek(0)
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        if checksum == sha256:
            stream.seek(0)
            with atomic(file) as scratch, scratch.open("wb") as target:
                shutil.copyfileobj(stream, target, _CHUNK)
    return checksum
