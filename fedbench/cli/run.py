"""The commands `run` and `verify`: one run from a file; finished runs, trained once more."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fedbench.base.errors import FedbenchError, of_file
from fedbench.base.plugins import search_also
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console
from fedbench.cli.show import how_it_ended
from fedbench.spec.run import RunSpec, load_run

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.engine.checkpoint import Row
    from fedbench.engine.training import Watch

_PAUSE = 5.0  # seconds between two plain lines
_OUT = "Folder for the run: rounds.parquet, run.json, weights."
_WORKERS = f"{options.THREADS} Default: one per core; on a GPU one."
_FILES = (
    "Tables of runs, or folders of them, that `fedbench export` wrote: the runs are drawn among "
    "theirs. Default: among those that are finished at the scale."
)
_SEED = "Draws the same runs again. Default: others each time."
_TOLERANCE = (
    "With other packages or another processor than before: the largest difference allowed, "
    "relative to numbers above 1."
)


@app.command(rich_help_panel=Panel.runs)
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file with the settings of a run.")],
    out: Annotated[Path, typer.Option(help=_OUT)],
    data_dir: options.DataFolder = None,
    device: options.Device = "auto",
    workers: Annotated[int | None, typer.Option(min=1, help=_WORKERS)] = None,
    checkpoint_minutes: options.CheckpointMinutes = 5.0,
    live: options.Live = "",
) -> None:
    """Train one run; a run that was stopped goes on from its last checkpoint.

    Ctrl-C and the signals TERM, USR1 and HUP stop it after its round, with a checkpoint; a second
    one stops at once.
    """
    search_also(spec.parent)
    settings = load_run(spec)
    if _is_finished(settings, out, data_dir):
        return
    from fedbench.engine.machine import Machine
    from fedbench.engine.training import run as train
    from fedbench.jobs.train import follower

    machine = Machine(device, workers, checkpoint_minutes, keep_model=True)
    try:
        follow = follower(live, out, console.print)
        with watching(console, settings) as show, follow(settings) as send, of_file(spec):

            def watch(row: "Row") -> None:
                show(row)
                send(row)

            result = train(settings, out=out, data_dir=data_dir, machine=machine, watch=watch)
        console.print(f"{settings.id}: {how_it_ended(result.record)}; files in {out}")
    except FedbenchError:
        # another process may have trained it while this one waited
        if not _is_finished(settings, out, data_dir):
            raise


def _is_finished(settings: RunSpec, out: Path, data_dir: Path | None) -> bool:
    """Whether the folder holds the finished run, which is then said; raises if it was changed."""
    from fedbench.engine.assemble import data_of
    from fedbench.store import RunFolder

    folder = RunFolder(out)
    record = folder.record()
    if not record or record["id"] != settings.id or not folder.finished(settings.id):
        return False
    trained = record["data"].get("checksum", "")
    try:
        now = data_of(settings, data_dir).checksum
    except FedbenchError:  # without any data here there is no telling
        now = trained
    if trained and now != trained:
        raise FedbenchError(
            f"{out}: was trained on data that have been replaced since (checksum {trained[:12]}, "
            f"now {now[:12]}); delete the folder or give another one with --out"
        )
    console.print(f"{settings.id} is {record['status']} already; see {out / 'run.json'}")
    return True


@contextmanager
def watching(console: Console, spec: RunSpec) -> Iterator["Watch"]:
    """What shows progress after each evaluated round: a bar, or without a terminal a line."""
    if not console.is_terminal:
        yield _lines(console, spec)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = "round", MofNCompleteColumn(), BarColumn(), "{task.fields[score]}"
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("rounds", total=spec.rounds, score="")
        yield lambda row: bar.update(task, completed=int(row["round"]), score=_score(row))


def _score(row: "Row") -> str:
    return f"accuracy {row['accuracy']:.4f}" if "accuracy" in row else f"loss {row['loss']:.4g}"


def _lines(console: Console, spec: RunSpec) -> "Watch":
    start = last = monotonic()
    first: int | None = None  # the last round before this process, which may go on with a run

    def show(row: "Row") -> None:
        nonlocal first, last
        done, now = int(row["round"]), monotonic()
        first = max(0, done - spec.eval_every) if first is None else first
        if now - last < _PAUSE and done < spec.rounds:
            return
        last = now
        left = (now - start) / (done - first) * (spec.rounds - done)
        words = f"round {done}/{spec.rounds}  {_score(row)}  {left:.0f} s left"
        console.print(words, highlight=False)

    return show


@app.command(rich_help_panel=Panel.runs)
def verify(
    files: Annotated[list[Path] | None, typer.Argument(help=_FILES)] = None,
    scale: options.Scale = "demo",
    sample: Annotated[int, typer.Option(min=1, help="How many finished runs are drawn.")] = 5,
    seed: Annotated[int | None, typer.Option(help=_SEED)] = None,
    tolerance: Annotated[float, typer.Option(min=0, help=_TOLERANCE)] = 0.02,
    device: options.Device = "auto",
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Train some finished runs again and compare every number with what is stored.

    With the same packages on the same processor every bit must be the same. Nothing is written, but
    for published runs that the results folder lacks. The exit code is 1 if a run did not come out
    as it was.
    """
    from fedbench.engine.machine import Machine, one_thread_a_process
    from fedbench.jobs.verify import train_again

    finished = _finished(files or [], scale, results)
    runs = random.Random(seed).sample(finished, min(sample, len(finished)))  # noqa: S311
    one_thread_a_process()
    bad = 0
    for run in runs:
        again = train_again(run, results, Machine(device, 1), data_dir)
        bad += not again.holds(tolerance)
        console.print(again.words(), highlight=False, soft_wrap=True)
    console.print(f"{len(runs) - bad} of {len(runs)} runs came out as they should")
    if bad:
        raise typer.Exit(1)


def _finished(files: list[Path], scale: str, results: Path) -> list[RunSpec]:
    from fedbench.jobs.export_and_restore import exports_in, read_checked, restore
    from fedbench.plan.plan_file import read_plan
    from fedbench.store import Results, state
    from fedbench.store.flat_settings import is_outdated, recorded_run

    if files:
        places = exports_in(files)
        restore(places, results)
        runs = [run for file in places for run in read_checked(file).runs.values()]
        told = [run.record["settings"] for run in runs]
        asked = [recorded_run(settings) for settings in told if not is_outdated(settings)]
        if not asked:
            raise FedbenchError(f"{files[0]}: has no run that a plan still asks for")
        return asked
    planned = read_plan(results, scale).runs
    complete = [run for key, run in planned.items() if state(Results(results).run(key)).complete]
    if not complete:
        raise FedbenchError(f"{results}: no run of scale '{scale}' is finished; train some first")
    return complete
