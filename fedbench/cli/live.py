"""Shows how far a run has come: a bar on a terminal, elsewhere a line every few seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fedbench.engine.progress import Row
from fedbench.engine.training import Watch
from fedbench.spec import RunSpec

_PAUSE = 5.0  # seconds between two plain lines


@contextmanager
def watching(console: Console, spec: RunSpec) -> Iterator[Watch]:
    """A function to be called with each evaluated round; it shows progress and time left."""
    if not console.is_terminal:
        yield _lines(console, spec)
        return
    columns = [
        TextColumn("round"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[score]}"),
    ]
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("rounds", total=spec.rounds, score="")
        yield lambda row: bar.update(task, completed=int(row["round"]), score=score(row))


def score(row: Row) -> str:
    """The accuracy of a round in words, or its loss where there is no accuracy."""
    return f"accuracy {row['accuracy']:.4f}" if "accuracy" in row else f"loss {row['loss']:.4g}"


def _lines(console: Console, spec: RunSpec) -> Watch:
    start = last = monotonic()
    first: int | None = None  # the last round before this process, which may go on with a run

    def show(row: Row) -> None:
        nonlocal first, last
        done, now = int(row["round"]), monotonic()
        first = max(0, done - spec.eval_every) if first is None else first
        if now - last < _PAUSE and done < spec.rounds:
            return
        last = now
        left = (now - start) / (done - first) * (spec.rounds - done)
        console.print(
            f"round {done}/{spec.rounds}  {score(row)}  {left:.0f} s left", highlight=False
        )

    return show


def both(one: Watch, other: Watch) -> Watch:
    """A function that calls both with each evaluated round."""

    def watch(row: Row) -> None:
        one(row)
        other(row)

    return watch
