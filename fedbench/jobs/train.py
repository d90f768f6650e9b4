"""Trains a batch of runs, one after the other, here or in a child process that one may kill."""

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from fedbench.base.errors import FedbenchError, require_among
from fedbench.base.files import exists, require_writable
from fedbench.base.signals import SIGNALS, handled, stop_if_requested, stoppable
from fedbench.engine.assemble import loading_once
from fedbench.engine.checkpoint import Row
from fedbench.engine.machine import Machine
from fedbench.engine.record import Result
from fedbench.engine.training import Watch, run
from fedbench.plan.search import resolved
from fedbench.spec import RunSpec
from fedbench.store import Results, RunFolder, locked, run_states

RUNS_FAILED = 3  # the exit code that tells failed runs, each with its error, from all else

Work = Callable[[Sequence[str]], Sequence[str]]  # trains runs, by ids; returns those that failed
Follow = Callable[[RunSpec], AbstractContextManager[Watch]]


def nobody(spec: RunSpec) -> AbstractContextManager[Watch]:
    """A `Follow` that sends nothing anywhere."""
    return nullcontext(lambda row: None)


def follower(where: str, folder: Path, say: Callable[[str], None]) -> Follow:
    """What follows runs as `--live` says: nobody if it is empty, else 'mlflow' or 'mlflow=URI'."""
    if not where:
        return nobody
    kind, _, uri = where.partition("=")
    require_among("live", "tracker", kind, ["mlflow"])
    from fedbench.jobs.mlflow import Live, default_uri  # who follows no run must not wait for it

    return Live(uri or default_uri(folder), say).following


def train(
    runs: Mapping[str, RunSpec],
    run_ids: Sequence[str],
    results: Path,
    machine: Machine,
    data_dir: Path | None,
    say: Callable[[str], None] = print,
    follow: Follow = nobody,
) -> list[str]:
    """Train the runs that are not finished; returns the ids of those that left an error.txt."""
    machine.torch_device()  # one that is not here is no fault of the runs
    work, failed = partial(run, machine=machine, data_dir=data_dir), []
    with stoppable(), loading_once():
        for place, run_id in enumerate(run_ids, 1):
            stop_if_requested(f"before run {place} of {len(run_ids)}; those before it are finished")
            prefix = f"[{place}/{len(run_ids)}] {run_id}"
            folder = Results(results).run(run_id)
            try:
                spec = runs[run_id]
                require_writable(folder.path)
                with locked(folder, say):
                    if folder.finished(spec.id):
                        folder.forget_checkpoint()  # a kill came just after the record was written
                        say(f"{prefix}: finished before")
                    else:
                        final = resolved(spec, results)
                        # of an earlier try: a run that is stopped now has not failed
                        run_states.failure_file(folder).unlink(missing_ok=True)
                        how = _train_one(partial(work, final, searched=spec), folder, follow(spec))
                        say(f"{prefix}: {how}")
            except Exception as error:  # whatever it was, the other runs are trained
                failed.append(run_id)
                file = run_states.note_failure(folder, error)
                where = "" if isinstance(error, FedbenchError) else f" (traceback: {file})"
                say(f"{prefix}: failed: {error}{where}")
    return failed


def _train_one(
    work: Callable[..., Result], folder: RunFolder, following: AbstractContextManager[Watch]
) -> str:
    """Train the run, going on from its checkpoint; says how it ended."""
    with run_states.signs_of_life(folder) as beat, following as seen:

        def watch(row: Row) -> None:
            beat(int(row["round"]))
            seen(row)

        result = work(out=folder.path, watch=watch)
    last = result.history.iloc[-1]
    seconds = sum(result.record["seconds"].values())
    score = f"accuracy {last['accuracy']:.4f}" if "accuracy" in last else f"loss {last['loss']:.4g}"
    return f"{result.status} at round {int(last['round'])}, {score}, {seconds:.1f} s"


def say(line: str) -> None:
    """Print a line at once, so that a log says which run a killed process was at."""
    try:
        print(line, flush=True)
    except OSError:  # as on a full disk: the runs go on without this line and those after it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def train_in_child(work: Work, run_ids: Sequence[str], results: Path) -> int:
    """Train runs in a child process; another goes on after a run that kills it; the exit code."""
    left, blamed = list(run_ids), list[str]()
    while left:
        child, stopped = _child(work, left, results)
        code = child.exitcode or 0
        if code > 0:
            return code
        if code == 0:
            break
        lost = [x for x in left if run_states.left_by(Results(results).run(x), child.pid or 0)]
        if stopped or not lost:  # stopped at once, or killed between two runs: none is to blame
            return 128 - code
        by = signal.Signals(-code)
        memory = ", as the system does when memory runs out" * (by is signal.SIGKILL)
        why = f"its process was ended by {by.name}{memory}"
        say(f"{lost[0]}: {why}")
        error = FedbenchError(
            f"{why}; the same command trains it again, on from its last checkpoint; give it fewer "
            "--cores if memory is short"
        )
        run_states.note_failure(Results(results).run(lost[0]), error)
        blamed.append(lost[0])
        left = left[left.index(lost[0]) + 1 :]
    return _exit_code(blamed, results)


def _child(work: Work, run_ids: Sequence[str], results: Path) -> tuple[BaseProcess, bool]:
    """The child, which has ended, and whether a signal, which is for it, came meanwhile."""
    sys.stdout.flush()
    # it starts in milliseconds with all that was imported; nothing has used threads or a GPU yet
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_cleanly, args=(work, run_ids, results))
    child.start()
    passed: list[int] = []

    def pass_on(number: int, _: object) -> None:
        passed.append(number)
        with suppress(ProcessLookupError):
            os.kill(child.pid or 0, number)

    with handled(dict.fromkeys(SIGNALS, pass_on)):
        child.join()
    return child, bool(passed)


def _cleanly(work: Work, run_ids: Sequence[str], results: Path) -> None:
    """Do the work; states of clients on disk go before the process ends, also if it is stopped."""
    gc.freeze()  # what was imported is no garbage, and is not looked at again
    code: object = 2
    try:
        code = _exit_code(work(run_ids), results)
    except SystemExit as stopped:
        code = stopped.code
    except FedbenchError as error:  # for all runs alike, such as a device that is not here
        print(f"error: {error}", file=sys.stderr)
    gc.collect()
    sys.exit(code)  # type: ignore[arg-type]  # a number, or None


def _exit_code(failed: Sequence[str], results: Path) -> int:
    """0 if no run has failed, 3 if each has its error in its folder, else 1: the disk is full."""
    files = (run_states.failure_file(Results(results).run(run_id)) for run_id in failed)
    return (RUNS_FAILED if all(map(exists, files)) else 1) if failed else 0
