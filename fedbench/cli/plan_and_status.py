"""The commands on a scale: what it trains and costs, its data, how far it is, if it learns."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import find_file
from fedbench.base.processes import cores
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of
from fedbench.paper.scale import load_scale

if TYPE_CHECKING:  # other commands must not wait for what these need
    from fedbench.jobs.status import Overview
    from fedbench.plan.plan import Plan

_WRITE = "Write it to the results, where the workflow's steps read it."
_CHECK = "Also check every value of parts, models, partitions and figures."
_WATCH = "Look again and again until no run is left."
_MOST = 12  # tables and figures that each have a row
_NAMED = 10  # running runs that are named
_PAUSE, _PLAIN_PAUSE = 2.0, 30.0  # seconds between two looks on a terminal, and elsewhere


@app.command(rich_help_panel=Panel.papers)
def plan(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    tables: options.Tables = "",
    full: options.Full = False,
    as_json: options.AsJson = False,
    write: Annotated[bool, typer.Option("--write", help=_WRITE)] = False,
    check: Annotated[bool, typer.Option(help=_CHECK)] = False,
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Say what a scale would train and what that costs; nothing is trained.

    Of many tables and figures those of a paper are one row, unless `--full` is given. A sample pass
    is one training sample, forward and backward, once.
    """
    from fedbench.plan.plan import make_plan
    from fedbench.plan.plan_file import to_json, write_plan

    planned = make_plan(workflow, scale, split(papers), split(tables))
    if check:
        _check(planned, workflow)
    if write:
        write_plan(planned, results)
    elif as_json:
        sys.stdout.write(to_json(planned))
    else:
        print_costs(planned, results, data_dir, most=None if full else _MOST)


def _check(planned: "Plan", workflow: Path) -> None:
    from fedbench.engine.assemble import check_choices
    from fedbench.report.checks_before_training import check_report

    papers = workflow / "papers"
    files = {paper: find_file(papers, f"{paper}.yaml") for paper in planned.papers}
    places = {
        cell.run_id: f"{files[cell.paper]}: grids.{cell.grid} at {cell.coords}"
        for cell in reversed(planned.cells)
    }
    for run_id in [*places]:
        for trial in planned.trials_of(run_id):
            places.setdefault(trial, f"{places[run_id]}, in its search")
    check_choices((places[run_id], run) for run_id, run in planned.runs.items())
    check_report(planned, papers)


def print_costs(
    planned: "Plan",
    results: Path,
    data_dir: Path | None,
    parts: Sequence[tuple[str, "Plan"]] = (),
    most: int | None = None,
) -> None:
    """Print what training each table of a plan costs, then what parts of it cost, as `by_table`."""
    from fedbench.data.source import data_folder
    from fedbench.plan.cost import GPU_CORES, by_table, measured_speeds

    speeds = measured_speeds(results, planned.cuts.speeds)
    budgets = by_table(planned, speeds, data_folder(data_dir), parts=parts, most=most)
    console.print(table_of({"what": name} | cost.words() for name, cost in budgets.items()))
    print_line(
        f"Hours follow from how fast finished runs in {results} trained the same model. Without "
        "such runs they follow from the speed of one core that the scale's file or else the model "
        f"declares, and a GPU is assumed to be as fast as {GPU_CORES} cores. Hours here are those "
        f"of training alone until the last run ends, on all {cores()} cores of this "
        "machine, where one core trains each run. GPU hours are those of one GPU."
    )


@app.command(rich_help_panel=Panel.papers)
def fetch(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    tables: options.Tables = "",
    workflow: options.Workflow = options.WORKFLOW,
    data_dir: options.DataFolder = None,
) -> None:
    """Load every data set that a scale needs, downloading what is missing.

    On a cluster whose nodes have no network it is called once on the node where one logs in. The
    exit code is 2 if a data set is missing in the end.
    """
    from fedbench.data.source import data_folder
    from fedbench.plan.plan import make_plan

    planned = make_plan(workflow, scale, split(papers), split(tables))
    missing = 0
    for choice in {str(run.dataset): run.dataset for run in planned.runs.values()}.values():
        try:
            loaded = choice.build("dataset").load(data_folder(data_dir))
            sizes = f"{len(loaded.y_train):,} training and {len(loaded.y_test):,} test samples"
            print_line(f"{choice}: {sizes}, checksum {loaded.checksum[:12]}")
        except FedbenchError as error:  # the other data sets are fetched all the same
            missing += 1
            print_line(f"{choice}: {error}")
    if missing:
        console.print(f"{missing} data sets are missing")
        raise typer.Exit(2)


@app.command(rich_help_panel=Panel.papers)
def status(
    scale: options.Scale = "demo",
    watch: Annotated[bool, typer.Option("--watch", help=_WATCH)] = False,
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
            told = {
                "papers": {name: tally.numbers() for name, tally in seen.papers.items()},
                "all": seen.everything.numbers(),
                "running": {run_id: asdict(state) for run_id, state in seen.running.items()},
                "failed": {run_id: state.why for run_id, state in seen.failed.items()},
            }
            print_json(told)
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
    with several seeds methods should differ more than seeds do (standard deviations in points).
    """
    from fedbench.plan.plan import make_plan
    from fedbench.report.learning_check import judge

    found = judge(make_plan(workflow, scale, split(papers)), results)
    if not found.runs:
        raise FedbenchError(f"{results}: no collected run of '{scale}' has an accuracy; train some")
    rows = (
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
    console.print(table_of(rows))
    weak, tables = ", ".join(found.weak) or "–", len(found.tables)
    console.print(f"{len(found.weak)} of {tables} tables learn too little: {weak}")
    console.print(f"{len(found.near_chance)} of {found.runs} runs end near guessing")
    several = f"{sum(found.apart)} of {len(found.apart)} with several seeds"
    console.print(f"in {several} methods differ by more than seeds do")
    raise typer.Exit(0 if found.holds else 1)


def _looks(scale: str, workflow: Path, results: Path, again: bool) -> "Iterator[Overview]":
    from fedbench.jobs.status import Watcher
    from fedbench.plan.cost import Speeds
    from fedbench.plan.plan_file import read_plan

    load_scale(workflow, scale)  # one that is misspelt is told with those that there are
    plan = read_plan(results, scale)
    watcher = Watcher(plan, results, Speeds(plan.cuts.speeds))
    yield (seen := watcher.look())
    while again and (seen.running or seen.left):
        time.sleep(_PAUSE if console.is_terminal else _PLAIN_PAUSE)
        yield (seen := watcher.look())


def _shown(seen: "Overview") -> Group:
    running = list(seen.running.items())
    lines = [f"running: {run_id}, round {state.round}" for run_id, state in running[:_NAMED]]
    lines += [f"and {len(running) - _NAMED} more are running"] * (len(running) > _NAMED)
    lines += [f"failed: {run_id}: {state.why}" for run_id, state in seen.failed.items()]
    return Group(table_of(seen.rows()), Text("\n".join(lines)))
