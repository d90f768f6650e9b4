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
from fedbench.base.files import delete_abandoned, exists, matching, require_writable
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
    """Refuse a file newer than now: all made of it would be older, which ends Snakemake at last."""
    latest = time.time() + _AHEAD
    for file in map(Path, files):
        changed = file.stat().st_mtime if exists(file) else 0.0  # missing: said where it is read
        if changed > latest:
            date = f"{datetime.fromtimestamp(changed):%Y-%m-%d at %H:%M}"
            remedy = "set this machine's clock, or give it the time of now with `touch`"
            raise FedbenchError(f"{file}: was changed on {date}, in the future; {remedy}")


def require_folders(*folders: Path) -> None:
    """Refuse a file in place of a folder, into which Snakemake would look."""
    for folder in folders:
        if exists(folder) and not folder.is_dir():
            raise FedbenchError(f"{folder}: is a file; name a folder for results or reports")


def hold(folder: Path) -> None:
    """Have this folder for a workflow until this process ends, however it ends."""
    take(folder / _RUNNING / f"{socket.gethostname()}-{os.getpid()}.lock")


def claim(results: Path, reports: Path, scale: str) -> None:
    """Have the plan and frames of a scale, where workflows of two folders may meet, to the end.

    Raises `FedbenchError` if another has them, or a folder cannot be written to.
    """
    for folder in (results / scale, reports / scale):
        require_writable(folder)
    if not take(results / scale / ".lock"):
        raise FedbenchError(
            f"{results / scale}: a workflow that was started in another folder writes there; wait "
            "until it has ended, or have other results with --config results=…"
        )


def unlock(folder: Path) -> bool:
    """Free the folder, unless a workflow runs there; returns whether a killed one had locked it."""
    for file in matching(folder / _RUNNING, "*.lock"):
        if not take(file):
            host, _, process = file.stem.rpartition("-")
            said = f"a workflow runs here, as process {process} of {host}"
            raise FedbenchError(f"{folder}: {said}; wait for it or stop it with Ctrl-C")
        file.unlink(missing_ok=True)
    locked = bool(matching(folder / _LOCKS, "*.lock"))
    rmtree(folder / _LOCKS, ignore_errors=True)
    return locked


def tidy(results: Path, reports: Path) -> None:
    """Delete what killed processes left half-written; the folders of runs are left to training."""
    for folder in (*matching(results, "*/"), reports):
        if folder != Results(results).runs:
            delete_abandoned(folder)


def pass_signals_on() -> None:
    """From now on Ctrl-C and SIGTERM reach what trains: Snakemake itself passes none on."""
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
    """Have runs that did not end trained again, and searches with a failed trial choose again."""
    folders = Results(results)
    for run_id in (*seen.failed, *seen.left):
        if exists(folders.stamp(run_id)):
            os.utime(folders.run(run_id).path)
    for search, trials in plan.trials.items():
        if not seen.failed.keys().isdisjoint(trials):
            folders.winner(search).unlink(missing_ok=True)
