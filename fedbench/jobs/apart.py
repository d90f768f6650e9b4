"""Trains in a child process: a run that kills its process does not take the others with it."""

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists
from fedbench.base.signals import SIGNALS
from fedbench.store import Results, RunFolder, failure_file, left_by, note_failure

RUNS_FAILED = 3  # the exit code that tells failed runs, each with its error, from all else
_WHY = {signal.SIGKILL: "as the system does when memory runs out"}


def say(line: str) -> None:
    """Print a line at once, so that a log says which run a killed process was at.

    Where it cannot be printed, as on a full disk, it is lost, and so are those after it: the runs
    go on, and each says in its folder how it ended.
    """
    try:
        print(line, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def train_apart(
    work: Callable[[Sequence[str]], object], run_ids: Sequence[str], results: Path
) -> int:
    """Call `work` with the runs in a child process; returns the exit code for all of them.

    If a run kills the child, that run has failed, and another child goes on with those after it.
    """
    left = list(run_ids)
    while left:
        child, code, asked = _child(work, left)
        if code >= 0:
            return code or _verdict(run_ids, results)
        lost = [run_id for run_id in left if left_by(Results(results).run(run_id), child)]
        if asked or not lost:  # stopped at once, or killed between two runs: none is to blame
            return 128 - code
        _blame(Results(results).run(lost[0]), signal.Signals(-code))
        left = left[left.index(lost[0]) + 1 :]
    return _verdict(run_ids, results)


def _child(
    work: Callable[[Sequence[str]], object], run_ids: Sequence[str]
) -> tuple[int, int, bool]:
    """A child's number, its exit code, below 0 if a signal ended it, and whether one asked it to.

    A fork starts in milliseconds with all that was imported; nothing has used threads or a GPU yet.
    """
    sys.stdout.flush()
    child = multiprocessing.get_context("fork").Process(target=_cleanly, args=(work, run_ids))
    child.start()
    with _passing_on_to(child) as passed:
        child.join()
    return child.pid or 0, child.exitcode or 0, bool(passed)


def _cleanly(work: Callable[[Sequence[str]], object], run_ids: Sequence[str]) -> None:
    """Do the work; states of clients on disk go before the process ends, also if it is stopped.

    What is wrong for all runs alike, such as a tracker that is not installed, is one sentence.
    """
    gc.freeze()  # what was imported is no garbage, and is not looked at again
    code: object = 0
    try:
        work(run_ids)
    except SystemExit as stopped:
        code = stopped.code
    except FedbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    gc.collect()
    sys.exit(code)  # type: ignore[arg-type]  # a number, or None


@contextmanager
def _passing_on_to(child: BaseProcess) -> Iterator[list[int]]:
    """Signals that ask this process to stop are for the child, which stops after its round."""
    passed: list[int] = []

    def pass_on(number: int, _: object) -> None:
        passed.append(number)
        with suppress(ProcessLookupError):
            os.kill(child.pid or 0, number)

    before = {each: signal.signal(each, pass_on) for each in SIGNALS}
    try:
        yield passed
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _blame(folder: RunFolder, by: signal.Signals) -> None:
    why = f", {_WHY[by]}" if by in _WHY else ""
    say(f"{folder.path.name}: its process was ended by {by.name}{why}")
    note_failure(
        folder,
        FedbenchError(
            f"its process was ended by {by.name}{why}; the same command trains it again, on from "
            "its last checkpoint; give it fewer --cores if memory is short"
        ),
    )


def _verdict(run_ids: Sequence[str], results: Path) -> int:
    """0 if all are complete and as they were written, 3 if the others left errors, else 1."""
    folders = {run_id: Results(results).run(run_id) for run_id in run_ids}
    failed = {run_id: folder for run_id, folder in folders.items() if not _sound(folder, run_id)}
    if failed:
        say(f"{len(failed)} of {len(run_ids)} runs failed: {', '.join(failed)}")
    noted = all(exists(failure_file(folder)) for folder in failed.values())
    return (RUNS_FAILED if noted else 1) if failed else 0


def _sound(folder: RunFolder, run_id: str) -> bool:
    """Whether the run is complete and its files are those that it wrote."""
    try:
        return folder.finished(run_id) is not None
    except FedbenchError:
        return False
