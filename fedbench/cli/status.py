"""The command `status`: how far the runs of a scale have come, once or again and again."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fedbench.cli.app import (
    AsJson,
    Panel,
    ResultsFolder,
    Scale,
    WorkflowFolder,
    app,
    console,
    sentences,
)

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.jobs.status import Overview, Tally
    from fedbench.store import Status

_NAMED = 10  # running runs that are named
_PAUSE, _PLAIN_PAUSE = 2.0, 30.0  # seconds between two looks on a terminal, and elsewhere


@app.command(rich_help_panel=Panel.papers)
def status(
    scale: Scale = "demo",
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again until no run is left.")
    ] = False,
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
) -> None:
    """Say how many runs are done, running or failed, by paper, from the run folders alone.

    It may be called on any machine that sees the results folder. A process of another machine
    counts as ended after half an hour without an evaluated round; its runs are then called stopped.
    """
    with sentences():
        looks = _looks(_look(scale, workflow, results), watch)
        if as_json:
            for seen in looks:
                print(json.dumps(facts(seen)), flush=True)
        elif console.is_terminal and watch:
            with Live(console=console, auto_refresh=False) as live:
                for seen in looks:
                    live.update(shown(seen), refresh=True)
        else:
            for seen in looks:
                console.print(shown(seen))


def _look(scale: str, workflow: Path, results: Path) -> "Callable[[], Overview]":
    from fedbench.jobs.status import Watcher
    from fedbench.paper.scale import load_scale
    from fedbench.plan.cost import Speeds
    from fedbench.plan.plan_file import PlanFile, planned_file

    load_scale(workflow, scale)  # one that is misspelt is told with those that there are
    plan = PlanFile(planned_file(results, scale)).plan()
    return Watcher(plan, results, Speeds(plan.speeds)).look


def _looks(look: "Callable[[], Overview]", again: bool) -> "Iterator[Overview]":
    """One look, or one every few seconds for as long as runs are left."""
    seen = look()
    yield seen
    while again and (seen.running or seen.left):
        time.sleep(_PAUSE if console.is_terminal else _PLAIN_PAUSE)
        seen = look()
        yield seen


def shown(seen: "Overview") -> RenderableType:
    """A table with a line per paper, then the runs that run, then those that failed."""
    from fedbench.store import Status

    shows = [status for status in Status if seen.everything.counts[status]]
    table = Table("", "runs", *shows, "seconds each", "left")
    for name, tally in {**seen.papers, "together": seen.everything}.items():
        table.add_row(name, *_cells(tally, seen, shows))
    running = list(seen.running.items())
    lines = [f"running: {run_id}, round {state.round}" for run_id, state in running[:_NAMED]]
    lines += [f"and {len(running) - _NAMED} more are running"] * (len(running) > _NAMED)
    lines += [f"failed: {run_id}: {state.why}" for run_id, state in seen.failed.items()]
    return Group(table, Text("\n".join(lines)))


def _cells(tally: "Tally", seen: "Overview", shows: "list[Status]") -> Iterator[str]:
    from fedbench.jobs.status import duration

    yield f"{tally.runs:,}"
    for status in shows:
        yield f"{tally.counts[status]:,}" if tally.counts[status] else ""
    yield f"{tally.seconds_per_run:.1f}" if tally.seconds_per_run is not None else ""
    yield duration(tally.left / max(1, len(seen.running))) if tally.left else ""


def facts(seen: "Overview") -> dict[str, Any]:
    """The same as plain values, for a program."""
    return {
        "papers": {name: _numbers(tally) for name, tally in seen.papers.items()},
        "all": _numbers(seen.everything),
        "running": {run_id: asdict(state) for run_id, state in seen.running.items()},
        "failed": {run_id: state.why for run_id, state in seen.failed.items()},
    }


def _numbers(tally: "Tally") -> dict[str, Any]:
    from fedbench.store import Status

    counts = {name.value: tally.counts[name] for name in Status}
    return counts | {"seconds_per_run": tally.seconds_per_run, "core_seconds_left": tally.left}
