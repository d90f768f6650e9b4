"""Fetches a published file once and compares it with its known checksum."""

import hashlib
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from fedbench.data.archive import short
from fedbench.errors import FedbenchError

_PATIENCE = 30  # seconds without a byte


class Remote(NamedTuple):
    """Where a published file is, and the sha256 it must have."""

    url: str
    sha256: str


def fetch(remote: Remote, missing: Path, layout: str) -> bytes:
    """The file's content; raises `FedbenchError` saying what to put where if it cannot be had.

    `missing` is the file it is wanted for and `layout` what that file must hold.
    """
    try:
        with urlopen(remote.url, timeout=_PATIENCE) as reply:  # noqa: S310  # https, by constants
            content: bytes = reply.read()
    except Exception as error:  # no network, no such host, a broken reply: the remedy is the same
        raise FedbenchError(
            f"{missing} is not there and {remote.url} could not be downloaded ({short(error)}); "
            f"put {layout} there, or run once with a network connection"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != remote.sha256:
        raise FedbenchError(
            f"{missing} is not there and {remote.url} has sha256 {found}, not {remote.sha256} as "
            f"published; put {layout} there"
        )
    return content
