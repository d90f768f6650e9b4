"""The commands that a rule of the workflow calls: data, train, select, collect, report, track."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    Data,
    Device,
    Mode,
    Names,
    PlanFile,
    Results,
    Scale,
    Workflow,
    app,
    console,
    sentences,
)

_PARAMETER = "parameter=value of the data set; may be given several times."


@app.command()
def data(
    name: str,
    settings: Annotated[list[str] | None, typer.Option("--set", help=_PARAMETER)] = None,
    data_dir: Data = None,
) -> None:
    """Load a data set (downloading it where there is a network) and print its facts as JSON."""
    with sentences():
        from fedbench.base.yamlfile import parse
        from fedbench.data.source import data_folder

        source = registry.build("dataset", name, parse(settings or []))
        found = source.load(data_folder(data_dir))
    facts = {"name": found.name, "train": len(found.y_train), "test": len(found.y_test)}
    print(json.dumps(facts | {"classes": found.classes, "origin": dict(found.origin)}, indent=2))


@app.command()
def train(
    runs: Annotated[list[str], typer.Argument(help="Run ids, or files in run folders.")],
    plan: PlanFile,
    results: Results = Path("results"),
    data_dir: Data = None,
    device: Device = "auto",
    mode: Mode = "auto",
    checkpoint_minutes: float = 5.0,
) -> None:
    """Train a batch of planned runs in this process, skipping those that are finished."""
    with sentences():
        from fedbench.engine.machine import Machine, one_thread_a_process
        from fedbench.jobs.worker import train as work
        from fedbench.plan.schedule import load_schedule

        one_thread_a_process()
        run_ids = [Path(name).parent.name if "/" in name else name for name in runs]
        machine = Machine(device, mode, checkpoint_minutes=checkpoint_minutes)  # type: ignore[arg-type]  # checked
        schedule = load_schedule(plan)
        for run_id in run_ids:
            schedule.run(run_id)  # refuses a strange one before it names a folder
        failed = work(schedule, run_ids, results, machine, data_dir)
        if failed:
            raise FedbenchError(f"{len(failed)} of {len(run_ids)} runs failed: {', '.join(failed)}")


@app.command()
def select(search: str, plan: PlanFile, results: Results = Path("results")) -> None:
    """Choose the winner of a search from its finished trials."""
    with sentences():
        from fedbench.base.files import write_text
        from fedbench.plan.schedule import load_schedule
        from fedbench.plan.search import search_id, winner_file
        from fedbench.plan.search import select as choose

        schedule = load_schedule(plan)
        trials = schedule.trials(search)
        run = next(r for r in schedule.runs.values() if r.tune and search_id(r) == search)
        winner = choose(run, trials, results)
        write_text(winner_file(results, search), json.dumps(winner, indent=2) + "\n")


@app.command()
def collect(
    paper: str,
    plan: PlanFile,
    out: Annotated[Path, typer.Option(help="Parquet file to write.")],
    results: Results = Path("results"),
) -> None:
    """Gather the histories of a paper's runs into one tidy frame."""
    with sentences():
        from fedbench.jobs.collect import collect as gather
        from fedbench.plan.schedule import load_schedule
        from fedbench.store import write_frame

        write_frame(gather(load_schedule(plan).paper(paper), results), out)


@app.command()
def report(
    scale: Scale = "demo",
    papers: Names = "",
    tables: Names = "",
    workflow: Workflow = Path("workflow"),
    results: Results = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
) -> None:
    """Draw the tables, figures and pages from what was collected."""
    with sentences():
        from fedbench.plan.outlook import planned
        from fedbench.report import build

        found = planned(workflow, scale, split(papers), split(tables))
        written = build(found, results, out, workflow / "papers")
        pages = [file for file in written if file.suffix == ".html"]
        console.print(f"{len(written)} files; open {pages[0]}", soft_wrap=True)


@app.command()
def track(
    scale: Scale = "demo",
    papers: Names = "",
    tables: Names = "",
    uri: Annotated[
        str, typer.Option(help="MLflow tracking URI (default: results/mlflow.db).")
    ] = "",
    workflow: Workflow = Path("workflow"),
    results: Results = Path("results"),
) -> None:
    """Mirror finished runs into MLflow; calling it again adds only what is new."""
    with sentences():
        from fedbench.jobs.track import mirror
        from fedbench.plan.outlook import planned

        found = planned(workflow, scale, split(papers), split(tables))
        added = mirror(found, results, uri or None)
        console.print(f"{added} runs added to MLflow, {len(found.runs)} in this plan")
