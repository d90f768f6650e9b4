"""The commands `plan` and `fetch`: what a scale would train, what that costs, its data."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what these need
    from fedbench.plan.plan import Plan


_MOST = 12  # tables and figures that each have a row


@app.command(rich_help_panel=Panel.papers)
def plan(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    tables: options.Tables = "",
    full: options.Full = False,
    as_json: options.AsJson = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write it to the results, where the workflow's steps read it."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option(help="Also check every value of parts, models, partitions and figures.")
    ] = False,
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
        print_costs(planned, workflow, results, data_dir, most=None if full else _MOST)


def _check(planned: "Plan", workflow: Path) -> None:
    """Build every choice of the plan once; raises `FedbenchError` on a value that is refused."""
    from fedbench.base.plugins import find_file
    from fedbench.engine.assemble import check_choices
    from fedbench.report.checks import check_report

    papers = workflow / "papers"
    files = {paper: find_file(papers, f"{paper}.yaml") for paper in planned.papers}
    places = {
        cell.run_id: f"{files[cell.paper]}: grids.{cell.grid} at {cell.coords}"
        for cell in reversed(planned.cells)
    }
    for run_id, search in planned.searches.items():
        for trial in planned.trials[search]:
            places.setdefault(trial, f"{places[run_id]}, in its search")
    check_choices((places[run_id], run) for run_id, run in planned.runs.items())
    check_report(planned, papers)


def print_costs(
    planned: "Plan",
    workflow: Path,
    results: Path,
    data_dir: Path | None,
    parts: Sequence[tuple[str, "Plan"]] = (),
    most: int | None = None,
) -> None:
    """Print what training each table of a plan costs, then what parts of it cost, as `by_table`."""
    from fedbench.base.processes import cores
    from fedbench.data.source import data_folder
    from fedbench.paper.scale import load_scale
    from fedbench.plan.cost import GPU_CORES, by_table, measured_speeds

    speeds = measured_speeds(results, load_scale(workflow, planned.scale).speeds)
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
    from fedbench.data.source import load_data
    from fedbench.plan.plan import make_plan

    planned = make_plan(workflow, scale, split(papers), split(tables))
    missing = 0
    for choice in {str(run.dataset): run.dataset for run in planned.runs.values()}.values():
        try:
            loaded = load_data(choice.name, choice.params, data_dir)
            sizes = f"{len(loaded.y_train):,} training and {len(loaded.y_test):,} test samples"
            print_line(f"{choice}: {sizes}, checksum {loaded.checksum[:12]}")
        except FedbenchError as error:  # the other data sets are fetched all the same
            missing += 1
            print_line(f"{choice}: {error}")
    if missing:
        console.print(f"{missing} data sets are missing")
        raise typer.Exit(2)
