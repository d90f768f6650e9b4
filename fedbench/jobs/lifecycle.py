"""What a workflow does at its start and end, and how the lock of a killed one is freed."""

import os
import signal
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from types import FrameType

import psutil

from fedbench.base.errors import FedbenchError
from fedbench.base.files import delete_abandoned, exists, matching
from fedbench.base.processes import take
from fedbench.jobs.status import Overview
from fedbench.plan.plan import Plan
from fedbench.store import Results

_LOCKS = ".snakemake/locks"  # Snakemake's own, which name files, not the process that writes them
_RUNNING = ".snakemake/fedbench"
LOCKED = (
    "Another workflow runs in this folder, or one was killed here. If none runs any more, "
    "`fedbench unlock` frees the folder; then give the same command again."
)
_AHEAD = 5  # seconds by which the clock of a file server may be ahead
_TRAIN = ["-m", "fedbench", "train"]


def require_past(files: Iterable[str | Path]) -> None:
    """Raise `FedbenchError` naming a file that is newer than now.

    All that is made of it would be older, at which Snakemake would end after the training.
    """
    latest = time.time() + _AHEAD
    for file in map(Path, files):
        changed = file.stat().st_mtime if exists(file) else 0.0  # missing: said where it is read
        if changed > latest:
            raise FedbenchError(
                f"{file}: was changed on {datetime.fromtimestamp(changed):%Y-%m-%d at %H:%M}, "
                "which is in the future; set this machine's clock, or give the file the time of "
                "now with `touch`"
            )


def hold(folder: Path) -> None:
    """Have this folder for a workflow until this process ends, however it ends."""
    _acquire(folder / _RUNNING / f"{socket.gethostname()}-{os.getpid()}.lock")


def claim(results: Path, scale: str) -> None:
    """Have the plan and the frames of a scale for this process, until it ends.

    Snakemake keeps two workflows apart that were started in one folder, not those of two folders
    with the same results: each would make its own plan in the place of the other's. Raises
    `FedbenchError` if another process has them.
    """
    file = results / scale / ".lock"
    if not _acquire(file):
        raise FedbenchError(
            f"{file.parent}: a workflow that was started in another folder writes there; wait "
            "until it has ended, or have other results with --config results=…"
        )


def unlock(folder: Path) -> bool:
    """Free the folder of what killed workflows left; returns whether it was locked.

    Snakemake's own `--unlock` does so too while a workflow runs; this raises `FedbenchError` then.
    """
    for file in matching(folder / _RUNNING, "*.lock"):
        if not _acquire(file):
            host, _, process = file.stem.rpartition("-")
            raise FedbenchError(
                f"{folder}: a workflow runs here, as process {process} of {host}; wait for it or "
                "stop it with Ctrl-C"
            )
        file.unlink(missing_ok=True)
    locked = bool(matching(folder / _LOCKS, "*.lock"))
    rmtree(folder / _LOCKS, ignore_errors=True)
    return locked


def _acquire(file: Path) -> bool:
    """Take the file's lock, if nobody has it; on a file system without locks nobody has."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return take(file)
    except (OSError, NotImplementedError):
        return True


def tidy(results: Path, reports: Path) -> None:
    """Delete what killed processes left half-written; the folders of runs are left to training."""
    for folder in (*matching(results, "*/"), reports):
        if folder != Results(results).runs:
            delete_abandoned(folder)


def pass_signals_on() -> None:
    """From now on Ctrl-C and SIGTERM reach the processes that train, which stop after their round.

    Snakemake itself passes none on: it waits until its jobs have ended.
    """
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def pass_on(number: int, frame: FrameType | None) -> None:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                words = process.cmdline()
                if _TRAIN in (words[1:4], words[2:5]):  # Python may have an option, -P
                    process.send_signal(number)
        if callable(own := before[signal.Signals(number)]):
            own(number, frame)

    for each in before:
        signal.signal(each, pass_on)


def let_retry(plan: Plan, seen: Overview, results: Path) -> None:
    """Make the folders of runs newer than their stamps, if these did not end: to train them again.

    The winners of searches with a failed trial are deleted, to be chosen again.
    """
    folders = Results(results)
    for run_id in (*seen.failed, *seen.left):
        if exists(folders.stamp(run_id)):
            os.utime(folders.run(run_id).path)
    for search, trials in plan.trials.items():
        if not seen.failed.keys().isdisjoint(trials):
            folders.winner(search).unlink(missing_ok=True)
