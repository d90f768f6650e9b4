"""Fetches a published file once, over https, and compares it with a sha256 given in the code."""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import atomic, exists

_PATIENCE = 30  # seconds without a byte


class Remote(NamedTuple):
    """Where a published file is, and the sha256 it must have."""

    url: str
    sha256: str


def obtain(remote: Remote, file: Path, remedy: str, missing: Path | None = None) -> None:
    """Download a published file unless it is there; errors name what is `missing` without it."""
    if exists(file):
        return
    import pooch  # with the packages that speak to servers; rarely needed

    pooch.get_logger().setLevel("WARNING")
    what = f"{missing or file} is not there and {remote.url}"
    by = pooch.HTTPDownloader(timeout=_PATIENCE)
    later = f"{remedy}, or run once with a network connection"
    reason = failing(f"{what} could not be downloaded", later)  # no network, no such host
    with tempfile.TemporaryDirectory() as folder, reason:
        try:
            arrived = pooch.retrieve(remote.url, remote.sha256, file.name, folder, downloader=by)
        except ValueError:
            raise FedbenchError(
                f"{what} has a sha256 that is not {remote.sha256}; {remedy}"
            ) from None
        with atomic(file) as scratch:
            shutil.copyfile(arrived, scratch)
