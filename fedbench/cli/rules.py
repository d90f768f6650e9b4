"""The commands that the workflow's rules call, each for one step from data to report."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.cli.app import (
    THREADS,
    CheckpointMinutes,
    DataFolder,
    Device,
    Live,
    Panel,
    PlanFile,
    ResultsFolder,
    Scale,
    WorkflowFolder,
    app,
    console,
    sentences,
)

_DATASET = "A data set's name, or with parameters '{file: {path: mine.csv}}'."
_TRAIN = "Which runs were to be trained: 'all', 'none', or names of methods, separated by commas."
_PARAMETER = "parameter=value of the data set; may be given several times."


Processes = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes that share the work; any number has the same outcome. "
        "Default: one per core that this process may use.",
    ),
]


@app.command(rich_help_panel=Panel.steps)
def data(
    dataset: Annotated[str, typer.Argument(help=_DATASET)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_PARAMETER)] = None,
    data_dir: DataFolder = None,
) -> None:
    """Load a data set, downloading it where that is possible, and print what it is as JSON.

    Of a table that is each column that is used as a feature, and warnings of those that are hardly
    one: an index, a constant, or what alone tells the label.
    """
    with sentences():
        import numpy as np

        from fedbench.base.checks import checked
        from fedbench.base.yamlfile import parse, read_value
        from fedbench.data import tables
        from fedbench.data.source import load_data
        from fedbench.spec import Choice

        choice = checked(Choice, read_value(dataset))
        loaded = load_data(choice.name, choice.params | parse(settings or []), data_dir)
        facts = {"name": loaded.name, "train": len(loaded.y_train), "test": len(loaded.y_test)}
        if loaded.classes:
            facts["largest"] = int(np.bincount(loaded.y_test).max())
        facts |= {"classes": loaded.classes, "samples": loaded.inputs.words}
        if tables.is_table(loaded):
            facts["features"] = tables.described(loaded)
            facts |= {"warnings": found} if (found := [*tables.suspicions(loaded)]) else {}
        facts |= {"origin": dict(loaded.origin)}
    print(json.dumps(facts | {"checksum": loaded.checksum}, indent=2))


@app.command(rich_help_panel=Panel.steps)
def train(
    runs: Annotated[list[str], typer.Argument(help="Ids of runs, or paths of files in theirs.")],
    plan: PlanFile,
    results: ResultsFolder = Path("results"),
    data_dir: DataFolder = None,
    device: Device = "auto",
    workers: Annotated[int, typer.Option(min=1, help=THREADS)] = 1,
    checkpoint_minutes: CheckpointMinutes = 5.0,
    live: Live = "",
) -> None:
    """Train some runs of a plan one after the other; those that are finished are skipped.

    A run that fails, or that the system kills, leaves its error in its folder and does not stop the
    others; the exit code is 3 then. Ctrl-C and the signals TERM, USR1 and HUP stop all of them
    after the round, with a checkpoint.
    """
    with sentences():
        from fedbench.engine.machine import Machine, one_thread_a_process
        from fedbench.jobs.live import follower
        from fedbench.jobs.train import say, train_in_child
        from fedbench.jobs.train import train as work
        from fedbench.plan.plan_file import PlanFile

        one_thread_a_process()
        run_ids = [Path(name).parent.name if "/" in name else name for name in runs]
        machine = Machine(device, workers, checkpoint_minutes=checkpoint_minutes)
        planned = PlanFile(plan).runs(run_ids)  # no folder for an id that is not in the plan

        def train_left(left: Sequence[str]) -> list[str]:
            follow = follower(live, results, say)  # in the process that trains
            return work(planned, left, results, machine, data_dir, say, follow)

        if code := train_in_child(train_left, run_ids, results):
            raise typer.Exit(code)


@app.command(rich_help_panel=Panel.steps)
def select(
    search: Annotated[str, typer.Argument(help="The id of a search in the plan.")],
    plan: PlanFile,
    results: ResultsFolder = Path("results"),
) -> None:
    """Choose the best settings of a search from its finished trials."""
    with sentences():
        from fedbench.base.files import write_text
        from fedbench.plan.plan_file import PlanFile
        from fedbench.plan.search import select as choose
        from fedbench.store import Results

        winner = choose(*PlanFile(plan).search(search), results)
        write_text(Results(results).winner(search), json.dumps(winner, indent=2) + "\n")


@app.command(rich_help_panel=Panel.steps)
def collect(
    paper: Annotated[str, typer.Argument(help="The name of a paper in the plan.")],
    plan: PlanFile,
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    results: ResultsFolder = Path("results"),
    whole: Annotated[
        bool,
        typer.Option(
            help="A run that was not trained is an error; with --no-whole it is left out."
        ),
    ] = True,
) -> None:
    """Gather the histories of a paper's finished runs into one frame."""
    with sentences():
        from fedbench.jobs.collect import collect as gather
        from fedbench.jobs.collect import finished
        from fedbench.plan.plan_file import PlanFile
        from fedbench.store import write_frame

        planned = PlanFile(plan).of_paper(paper)
        write_frame(gather(planned if whole else finished(planned, results), results), out)


@app.command(rich_help_panel=Panel.steps)
def missing(
    scale: Scale = "demo",
    train: Annotated[str, typer.Option(help=_TRAIN)] = "all",
    results: ResultsFolder = Path("results"),
) -> None:
    """Fail if runs that were to be trained have failed, after naming each and its error."""
    with sentences():
        from fedbench.jobs.status import Watcher
        from fedbench.plan.cost import Speeds
        from fedbench.plan.plan_file import PlanFile, planned_file

        plan = PlanFile(planned_file(results, scale)).plan()
        failed = Watcher(plan.to_train(train), results, Speeds()).look().failed
        for run_id, state in failed.items():
            console.print(f"{run_id}: {state.why}", soft_wrap=True)
        if failed:
            raise FedbenchError(f"{len(failed)} runs failed")


@app.command(rich_help_panel=Panel.steps)
def report(
    scale: Scale = "demo",
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder in which the reports are written.")] = Path(
        "reports"
    ),
    workers: Processes = None,
) -> None:
    """Write the pages, tables and figures of the plan from the collected frames.

    The numbers that a paper prints are read from <paper>.printed.csv beside its YAML file.
    """
    with sentences():
        from fedbench.base.files import write_text
        from fedbench.base.processes import cores
        from fedbench.plan.plan_file import PlanFile, planned_file
        from fedbench.report import build
        from fedbench.report.lacking import lacking

        plan = PlanFile(planned_file(results, scale)).plan()
        written = build(plan, results, out, workflow / "papers", workers or cores())
        names = sorted(file.relative_to(out / scale).as_posix() for file in written)
        write_text(out / scale / "files.txt", "\n".join(names) + "\n")
        pages = [file for file in written if file.suffix == ".html"]
        console.print(f"{len(written)} files; open {pages[0]}", soft_wrap=True)
        if words := lacking(plan, results):
            console.print(words, soft_wrap=True)


@app.command(rich_help_panel=Panel.steps)
def track(
    scale: Scale = "demo",
    uri: Annotated[
        str,
        typer.Option(
            envvar="FEDBENCH_TRACKING_URI",
            show_envvar=False,
            help="MLflow's tracking URI. Default: mlflow.db in the results folder.",
        ),
    ] = "",
    results: ResultsFolder = Path("results"),
) -> None:
    """Copy finished runs of the plan into MLflow; those that are there already are skipped."""
    with sentences():
        from fedbench.jobs.mlflow import mirror
        from fedbench.plan.plan_file import PlanFile, planned_file

        plan = PlanFile(planned_file(results, scale)).plan()
        added = mirror(plan, results, uri or None)
        of = f"{len(plan.runs):,} planned by {', '.join(plan.papers)}"
        console.print(f"{added:,} runs added to MLflow, of {of}", soft_wrap=True)
