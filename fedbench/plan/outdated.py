"""Has Snakemake do again what it takes for done: a plan of another selection, a run."""

import atexit
import os
import time
from contextlib import suppress
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, write_bytes, write_text

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


def ask_again(mark: Path) -> None:
    """Write the mark, an input of a run's job, so that Snakemake trains the run again.

    The mark has the time in it: Snakemake takes an input that is newer for unchanged if its content
    is what the job was given the last time, and would train a run that fails no third time.
    """
    write_text(mark, f"{time.time_ns()}\n")


def ask_until_the_end(mark: Path, stamp: Path) -> None:
    """The same until this process ends; after a dry run the mark is what it was.

    It stays if the stamp is newer, since the run was trained, or gone, since it was begun.
    """
    was = (mark.read_bytes(), mark.stat()) if exists(mark) else None
    ask_again(mark)
    atexit.register(_take_back, mark, stamp, was)


def _take_back(mark: Path, stamp: Path, was: tuple[bytes, os.stat_result] | None) -> None:
    with suppress(OSError, FedbenchError):
        if stamp.stat().st_mtime_ns > mark.stat().st_mtime_ns:
            return
        mark.unlink()
        if was:
            write_bytes(mark, was[0])
            os.utime(mark, ns=(was[1].st_atime_ns, was[1].st_mtime_ns))
