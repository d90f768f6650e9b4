"""Fetches a published file once, over https, and compares it with a sha256 given in the code."""

import shutil
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import atomic, exists

_PATIENCE = 30  # seconds without a byte
_REASON = 80  # characters of an error's text, which the remedy follows


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
    with tempfile.TemporaryDirectory() as folder:
        try:
            downloader = pooch.HTTPDownloader(timeout=_PATIENCE)
            arrived = pooch.retrieve(remote.url, None, file.name, folder, downloader=downloader)
        except Exception as error:  # no network, no such host, a full disk: the remedy is the same
            reason = textwrap.shorten(short(error), _REASON, placeholder=" …")
            raise FedbenchError(
                f"{what} could not be downloaded ({reason}); {remedy}, or run once with a network "
                "connection"
            ) from error
        if (found := pooch.file_hash(arrived)) != remote.sha256:
            raise FedbenchError(f"{what} has sha256 {found}, not {remote.sha256}; {remedy}")
        with atomic(file) as scratch:
            shutil.copyfile(arrived, scratch)
