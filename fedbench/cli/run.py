"""The command `run`: one training run from a file with its settings, shown while it trains."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fedbench.cli.app import (
    CheckpointMinutes,
    DataFolder,
    Device,
    Live,
    Panel,
    Workers,
    app,
    console,
    sentences,
)

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.engine.machine import Machine
    from fedbench.engine.progress import Row
    from fedbench.engine.training import Watch
    from fedbench.spec import RunSpec
    from fedbench.store import RunFolder

_PAUSE = 5.0  # seconds between two plain lines


@app.command(rich_help_panel=Panel.runs)
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file with the settings of a run.")],
    out: Annotated[
        Path, typer.Option(help="Folder for the run: rounds.parquet, run.json, weights.")
    ],
    data_dir: DataFolder = None,
    device: Device = "auto",
    workers: Workers = None,
    checkpoint_minutes: CheckpointMinutes = 5.0,
    live: Live = "",
) -> None:
    """Train one run; a run that was stopped goes on from its last checkpoint.

    Ctrl-C and the signals TERM, USR1 and HUP stop it after its round, with a checkpoint; a second
    one stops at once.
    """
    with sentences():
        from fedbench.base.plugins import search_also
        from fedbench.paper.compositions import load_run
        from fedbench.store import RunFolder

        search_also(spec.parent)
        settings = load_run(spec)
        folder = RunFolder(out)
        if _is_finished(settings, folder, data_dir):
            return
        from fedbench.base.errors import FedbenchError
        from fedbench.engine.machine import Machine

        machine = Machine(device, workers, checkpoint_minutes, keep_model=True)
        try:
            _train(spec, settings, out, data_dir, machine, live)
        except FedbenchError:
            # another process may have trained it while this one waited
            if not _is_finished(settings, folder, data_dir):
                raise


def _train(
    spec: Path,
    settings: "RunSpec",
    out: Path,
    data_dir: Path | None,
    machine: "Machine",
    live: str,
) -> None:
    """Train the run of the file `spec`, show it while it trains, and say how it ended."""
    from fedbench.base.errors import of_file
    from fedbench.engine.training import run as train
    from fedbench.jobs.live import follower

    follow = follower(live, out, console.print)
    with watching(console, settings) as show, follow(settings) as send, of_file(spec):

        def watch(row: "Row") -> None:
            show(row)
            send(row)

        result = train(settings, out=out, data_dir=data_dir, machine=machine, watch=watch)
    console.print(f"{settings.id}: {result.status}; files in {out}")


def _is_finished(settings: "RunSpec", folder: "RunFolder", data_dir: Path | None) -> bool:
    """Whether the folder holds the finished run, which is then said.

    Raises `FedbenchError` if its files were changed, or its data replaced.
    """
    out, record = folder.path, folder.record()
    if not record or record.get("id") != settings.id or not folder.finished(settings.id):
        return False
    _require_same_data(settings, record.get("data", {}).get("checksum", ""), out, data_dir)
    console.print(f"{settings.id} is {record['status']} already; see {out / 'run.json'}")
    return True


def _require_same_data(settings: "RunSpec", trained: str, out: Path, data_dir: Path | None) -> None:
    """Raise `FedbenchError` if the data here are other data; without any there is no telling."""
    from fedbench.base.errors import FedbenchError
    from fedbench.engine.build import data_of

    try:
        now = data_of(settings, data_dir).checksum
    except FedbenchError:
        return
    if trained and now != trained:
        raise FedbenchError(
            f"{out}: was trained on data that have been replaced since (checksum {trained[:12]}, "
            f"now {now[:12]}); delete the folder or give another one with --out"
        )


@contextmanager
def watching(console: Console, spec: "RunSpec") -> "Iterator[Watch]":
    """A function to be called with each evaluated round: it shows progress and the time left.

    On a terminal that is a bar, elsewhere a line every few seconds.
    """
    if not console.is_terminal:
        yield _lines(console, spec)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = "round", MofNCompleteColumn(), BarColumn(), "{task.fields[score]}"
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("rounds", total=spec.rounds, score="")
        yield lambda row: bar.update(task, completed=int(row["round"]), score=_score(row))


def _score(row: "Row") -> str:
    """The accuracy of a round in words, or its loss where there is no accuracy."""
    return f"accuracy {row['accuracy']:.4f}" if "accuracy" in row else f"loss {row['loss']:.4g}"


def _lines(console: Console, spec: "RunSpec") -> "Watch":
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
