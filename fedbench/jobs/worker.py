"""Trains several runs in one process, one after the other, each into its own folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.signals import stop_if_requested, stoppable
from fedbench.engine.machine import Machine
from fedbench.engine.progress import Row
from fedbench.engine.training import run
from fedbench.jobs.live import Follow, nobody
from fedbench.plan.search import resolved, search_id
from fedbench.spec import RunSpec
from fedbench.store import (
    Results,
    RunFolder,
    alone,
    forget_failure,
    note_failure,
    signs_of_life,
)


def train(
    runs: Mapping[str, RunSpec],
    run_ids: Sequence[str],
    results: Path,
    machine: Machine,
    data_dir: Path | None,
    say: Callable[[str], None] = print,
    follow: Follow = nobody,
) -> list[str]:
    """Train those of the runs that are not finished; returns the ids of those that failed.

    A run that fails leaves error.txt in its folder and does not stop the others; a signal stops all
    of them. `say` is called with one line per run; `follow` sees the rounds of each. Raises
    `FedbenchError` before any run if this machine does not have the device.
    """
    machine.torch_device()  # one that is not here is no fault of the runs
    failed = []
    with stoppable():
        for place, run_id in enumerate(run_ids, 1):
            stop_if_requested(f"before run {place} of {len(run_ids)}; those before it are finished")
            prefix = f"[{place}/{len(run_ids)}] {run_id}"
            folder = Results(results).run(run_id)
            try:
                how = _train_unless_finished(
                    runs[run_id], folder, results, machine, data_dir, say, follow
                )
                say(f"{prefix}: {how}")
            except Exception as error:  # whatever it was, the other runs are trained
                failed.append(run_id)
                file = note_failure(folder, error)
                where = "" if isinstance(error, FedbenchError) else f" (traceback: {file})"
                say(f"{prefix}: failed: {error}{where}")
    return failed


def _train_unless_finished(
    spec: RunSpec,
    folder: RunFolder,
    results: Path,
    machine: Machine,
    data_dir: Path | None,
    say: Callable[[str], None],
    follow: Follow,
) -> str:
    """Train the run as the only process that does, unless it is finished; says how it ended."""
    folder.require_writable()
    with alone(folder, say):
        if folder.finished(spec.id):
            folder.forget_checkpoint()  # the process was killed just after it wrote the record
            return "finished before"
        return _train_one(spec, folder, results, machine, data_dir, follow)


def _train_one(
    spec: RunSpec,
    folder: RunFolder,
    results: Path,
    machine: Machine,
    data_dir: Path | None,
    follow: Follow,
) -> str:
    final = resolved(spec, search_id(spec), results) if spec.tune else spec
    forget_failure(folder)  # of an earlier try: if this one is stopped, the run has not failed
    with signs_of_life(folder) as beat, follow(spec) as seen:

        def watch(row: Row) -> None:
            beat(int(row["round"]))
            seen(row)

        result = run(
            final,
            out=folder.path,
            machine=machine,
            data_dir=data_dir,
            watch=watch,
            searched=spec,
        )
    last = result.history.iloc[-1]
    seconds = sum(result.record["seconds"].values())
    score = f"accuracy {last['accuracy']:.4f}" if "accuracy" in last else f"loss {last['loss']:.4g}"
    return f"{result.status} at round {int(last['round'])}, {score}, {seconds:.1f} s"
