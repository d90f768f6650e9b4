"""Has Snakemake write a plan again that is there, but is of another selection."""

import atexit
import os
from contextlib import suppress
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.files import write_bytes

_LONG_AGO = 1  # second since 1970: older than all that a plan is made from


def outdate(file: Path) -> None:
    """Make the file older than all others until this process ends.

    Snakemake then writes it anew. A dry run, or a start that the folder's lock refuses, does not
    come to that, and must leave the file as it was: it may be the plan that the next start needs.
    Raises `FedbenchError` if the file is none that can be written.
    """
    try:
        was = file.stat()
        write_bytes(file, file.read_bytes())  # only its owner may change when a file was written
        os.utime(file, (_LONG_AGO, _LONG_AGO))
    except OSError as error:
        raise FedbenchError(f"{file}: cannot be written anew ({error}); move it away") from None
    atexit.register(_restore, file, was)


def _restore(file: Path, was: os.stat_result) -> None:
    with suppress(OSError):
        if file.stat().st_mtime == _LONG_AGO:
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
