"""Which workflows run in a folder, and the lock that one leaves there when it is killed."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from filelock import FileLock, Timeout

from fedbench.base.errors import FedbenchError
from fedbench.base.files import matching
from fedbench.base.partial import delete_abandoned
from fedbench.store import Results

_LOCKS = ".snakemake/locks"  # Snakemake's own, which name files, not the process that writes them
_RUNNING = ".snakemake/fedbench"
LOCKED = (
    "Another workflow runs in this folder, or one was killed here. If none runs any more, "
    "`fedbench unlock` frees the folder; then give the same command again."
)


_ours: list[FileLock] = []  # a lock is freed when nobody refers to it any more


def hold(folder: Path) -> None:
    """Say that this process runs a workflow in the folder, until it ends, however it ends.

    On a file system without locks nothing can be said.
    """
    file = folder / _RUNNING / f"{socket.gethostname()}-{os.getpid()}.lock"
    with suppress(Timeout):  # nobody else has this name
        _acquire(file)


def claim(results: Path, scale: str) -> None:
    """Have the plan and the frames of a scale for this process, until it ends.

    Snakemake keeps two workflows apart that were started in one folder, not those of two folders
    with the same results: each would make its own plan in the place of the other's. Raises
    `FedbenchError` if another process has them.
    """
    file = Results(results).lock(scale)
    try:
        _acquire(file)
    except Timeout:
        raise FedbenchError(
            f"{file.parent}: a workflow that was started in another folder writes there; wait "
            "until it has ended, or have other results with --config results=…"
        ) from None


def _acquire(file: Path) -> None:
    """Lock the file until this process ends; raises `Timeout` if another process has it."""
    lock = FileLock(file, fallback_to_soft=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise
    except (OSError, NotImplementedError):
        return  # no locks here
    _ours.append(lock)


def unlock(folder: Path) -> bool:
    """Free the folder of what killed workflows left; returns whether it was locked.

    Raises `FedbenchError` if a workflow still runs there.
    """
    for file in matching(folder / _RUNNING, "*.lock"):
        if _held(file):
            host, _, process = file.stem.rpartition("-")
            raise FedbenchError(
                f"{folder}: a workflow runs here, as process {process} of {host}; wait for it or "
                "stop it with Ctrl-C"
            )
        file.unlink(missing_ok=True)
    locked = bool(matching(folder / _LOCKS, "*.lock"))
    rmtree(folder / _LOCKS, ignore_errors=True)
    return locked


def tidy(results: Path, reports: Path) -> None:
    """Delete what killed processes had not written to its end.

    A run's folder is tidied by the process that trains the run.
    """
    for folder in (*Results(results).beside_runs(), reports):
        delete_abandoned(folder)


def _held(file: Path) -> bool:
    """Whether a living process holds the lock, of this machine or of another."""
    lock = FileLock(file, fallback_to_soft=False)
    with suppress(OSError, NotImplementedError):  # no locks here: nobody can hold one
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
    return False
