"""The commands `status` and `learned`: how far runs have come, whether they learn."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.jobs.status import Overview, Tally
    from fedbench.store import Status

_NAMED = 10  # running runs that are named
_PAUSE, _PLAIN_PAUSE = 2.0, 30.0  # seconds between two looks on a terminal, and elsewhere


@app.command(rich_help_panel=Panel.papers)
def status(
    scale: options.Scale = "demo",
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again until no run is left.")
    ] = False,
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
) -> None:
    """Say how many runs are done, running or failed, by paper, from the run folders alone.

    It may be called on any machine that sees the results folder. A process of another machine
    counts as ended after half an hour without an evaluated round; its runs are then called stopped.
    """
    looks = _looks(scale, workflow, results, watch)
    if as_json:
        for seen in looks:
            print_json(_facts(seen))
    elif console.is_terminal and watch:
        with Live(console=console, auto_refresh=False) as live:
            for seen in looks:
                live.update(_shown(seen), refresh=True)
    else:
        for seen in looks:
            console.print(_shown(seen))


@app.command(rich_help_panel=Panel.papers)
def learned(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
) -> None:
    """Say whether the runs of a scale learn, by table; the exit code is 1 if they do not.

    FedAvg's best accuracy should be well above that of always guessing the test set's largest
    class: 30 % with 10 equal classes, 4 % with 100, 65 % with two, where α or δ is at least 0.3,
    clients have 3 classes or data are IID; a quarter of that gain is enough in a table of more
    skewed settings alone. At most a tenth of the runs may end near guessing. In half of the tables
    methods should differ by more than seeds do (standard deviations in percentage points).
    """
    from fedbench.plan.plan import make_plan
    from fedbench.report.learning import judge

    found = judge(make_plan(workflow, scale, split(papers)), results)
    if not found.runs:
        raise FedbenchError(f"{results}: no run of scale '{scale}' is collected; train some first")
    console.print(
        table_of(
            {
                "table": each.name,
                "judged by": each.judged_by,
                "best, %": f"{100 * each.best:.1f}",
                "guessing, %": f"{100 * each.guess:.1f}",
                "wanted, %": f"{100 * each.wanted:.1f}",
                "methods": "" if each.methods is None else f"{each.methods:.1f}",
                "seeds": "" if each.seeds is None else f"{each.seeds:.1f}",
            }
            for each in found.tables
        )
    )
    weak, tables = ", ".join(found.weak) or "–", len(found.tables)
    console.print(f"{len(found.weak)} of {tables} tables learn too little: {weak}")
    console.print(f"{len(found.near_chance)} of {found.runs} runs end near guessing")
    console.print(f"in {found.apart} of {tables} tables methods differ by more than seeds do")
    if not found.holds:
        raise typer.Exit(1)


def _looks(scale: str, workflow: Path, results: Path, again: bool) -> "Iterator[Overview]":
    """One look, or one every few seconds for as long as runs are left."""
    from fedbench.jobs.status import Watcher
    from fedbench.paper.scale import load_scale
    from fedbench.plan.cost import Speeds
    from fedbench.plan.plan_file import read_plan

    load_scale(workflow, scale)  # one that is misspelt is told with those that there are
    plan = read_plan(results, scale)
    watcher = Watcher(plan, results, Speeds(plan.speeds))
    yield (seen := watcher.look())
    while again and (seen.running or seen.left):
        time.sleep(_PAUSE if console.is_terminal else _PLAIN_PAUSE)
        yield (seen := watcher.look())


def _shown(seen: "Overview") -> Group:
    from fedbench.store import Status

    columns = [status for status in Status if seen.everything.counts[status]]
    tallies = {**seen.papers, "together": seen.everything}
    table = table_of(_row(name, each, columns, seen) for name, each in tallies.items())
    running = list(seen.running.items())
    lines = [f"running: {run_id}, round {state.round}" for run_id, state in running[:_NAMED]]
    lines += [f"and {len(running) - _NAMED} more are running"] * (len(running) > _NAMED)
    lines += [f"failed: {run_id}: {state.why}" for run_id, state in seen.failed.items()]
    return Group(table, Text("\n".join(lines)))


def _row(name: str, tally: "Tally", columns: "list[Status]", seen: "Overview") -> dict[str, str]:
    from fedbench.jobs.status import duration

    seconds, left = tally.seconds_per_run, tally.left / max(1, len(seen.running))
    return {
        "": name,
        "runs": f"{tally.runs:,}",
        **{each: f"{tally.counts[each]:,}" if tally.counts[each] else "" for each in columns},
        "seconds each": f"{seconds:.1f}" if seconds is not None else "",
        "left": duration(left) if left else "",
    }


def _facts(seen: "Overview") -> dict[str, Any]:
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
