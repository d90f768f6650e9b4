"""The command `plan`: what a scale would train, and what that costs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    AsJson,
    DataFolder,
    Panel,
    Papers,
    ResultsFolder,
    Scale,
    Tables,
    WorkflowFolder,
    app,
    sentences,
)
from fedbench.cli.costs import print_costs

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.plan.plan import Cell, Plan


@app.command(rich_help_panel=Panel.papers)
def plan(
    scale: Scale = "demo",
    papers: Papers = "",
    tables: Tables = "",
    as_json: AsJson = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write it to the results, where the workflow's steps read it."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option(help="Also check every value of parts, models, partitions and figures.")
    ] = False,
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
    data_dir: DataFolder = None,
) -> None:
    """Say what a scale would train and what that costs; nothing is trained.

    A sample pass is one training sample, forward and backward, once.
    """
    with sentences():
        from fedbench.plan.plan import make_plan
        from fedbench.plan.plan_file import to_json, write_plan

        chosen = make_plan(workflow, scale, split(papers), split(tables))
        if check:
            _check(chosen, workflow)
        if write:
            write_plan(chosen, results)
        elif as_json:
            sys.stdout.write(to_json(chosen))
        else:
            print_costs(chosen, workflow, results, data_dir)


def _check(chosen: "Plan", workflow: Path) -> None:
    """Build every choice of the plan once; raises `FedbenchError` on a value that is refused."""
    from fedbench.engine.build import check_choices
    from fedbench.report.checks import check_report

    papers = workflow / "papers"
    places = {cell.run_id: _place(cell, papers) for cell in reversed(chosen.cells)}
    for run_id, search in chosen.searches.items():
        for trial in chosen.trials[search]:
            places.setdefault(trial, f"{places[run_id]}, in its search")
    check_choices((places[run_id], run) for run_id, run in chosen.runs.items())
    check_report(chosen, papers)


def _place(cell: "Cell", papers: Path) -> str:
    """Where the settings of a run are written: 'papers/rmfl.yaml: grids.main at {"alpha": 1}'."""
    from fedbench.base.plugins import find_file

    return f"{find_file(papers, f'{cell.paper}.yaml')}: grids.{cell.grid} at {cell.coords}"
