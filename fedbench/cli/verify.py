"""The command `verify`: whether a finished grid comes out the same when it is trained again."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.spec import RunSpec

_TOLERANCE = (
    "With other packages or another processor than before: the largest difference allowed, "
    "relative to numbers above 1."
)


@app.command(rich_help_panel=Panel.runs)
def verify(
    scale: options.Scale = "demo",
    sample: Annotated[int, typer.Option(min=1, help="How many finished runs are drawn.")] = 5,
    seed: Annotated[
        int | None, typer.Option(help="Draws the same runs again. Default: others each time.")
    ] = None,
    tolerance: Annotated[float, typer.Option(min=0, help=_TOLERANCE)] = 0.02,
    device: options.Device = "auto",
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Train some finished runs of a scale again and compare every number with what is stored.

    With the same packages on the same processor every bit must be the same. Nothing is written. The
    exit code is 1 if a run did not come out as it was.
    """
    from fedbench.engine.machine import Machine, one_thread_a_process
    from fedbench.jobs.verify import train_again

    finished = _finished(scale, results)
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


def _finished(scale: str, results: Path) -> "list[RunSpec]":
    from fedbench.plan.plan_file import read_plan
    from fedbench.store import Results, state

    planned = read_plan(results, scale).runs
    complete = [run for key, run in planned.items() if state(Results(results).run(key)).complete]
    if not complete:
        raise FedbenchError(f"{results}: no run of scale '{scale}' is finished; train some first")
    return complete
