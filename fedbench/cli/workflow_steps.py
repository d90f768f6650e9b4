"""The commands that the workflow's rules call, each for one step from data to report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError
from fedbench.base.files import write_json, write_text
from fedbench.base.processes import cores
from fedbench.base.yamlfile import parse, read_value
from fedbench.cli import options
from fedbench.cli.app import Panel, app, print_json, print_line
from fedbench.spec import Choice

_TRAIN = "Which runs were to be trained: 'all', 'none', or names of methods, separated by commas."
_PARAMETER = "parameter=value of the data set; may be given several times."

_WHOLE = "A run that was not trained is an error; with --no-whole it is left out."
_PROCESSES = (
    "Processes that share the work; any number has the same outcome. Default: one per core that "
    "this process may use."
)
_COPIES = (
    "Write figures as SVG, PNG and PDF and tables as LaTeX and Markdown, too; with --no-copies "
    "they stand in the pages, and their numbers in CSV files."
)
_URI = "MLflow's tracking URI. Default: mlflow.db in the results folder."


@app.command(rich_help_panel=Panel.steps)
def data(
    dataset: Annotated[str, typer.Argument(help=options.DATA_SET)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_PARAMETER)] = None,
    data_dir: options.DataFolder = None,
    out: Annotated[Path | None, typer.Option(help="File for the JSON. Default: print it.")] = None,
) -> None:
    """Load a data set, downloading it where that is possible, and say what it is as JSON.

    Of a table that is each column that is used as a feature, and warnings of those that are hardly
    one: an index, a constant, or what alone tells the label.
    """
    import numpy as np

    from fedbench.data.columns_and_channels import described, is_table, suspicions
    from fedbench.data.source import data_folder
    from fedbench.store import write_facts

    choice = checked(Choice, read_value(dataset))
    source = registry.build("dataset", choice.name, choice.params | parse(settings or []))
    loaded = source.load(data_folder(data_dir))
    facts = {"name": loaded.name, "train": len(loaded.y_train), "test": len(loaded.y_test)}
    if loaded.classes:
        facts["largest"] = int(np.bincount(loaded.y_test).max())
    if loaded.groups is not None:
        sizes = np.unique(loaded.groups, return_counts=True)[1]
        least, most = int(sizes.min()), int(sizes.max())
        facts["groups"] = {"number": len(sizes), "least": least, "most": most}
    facts |= {"classes": loaded.classes, "samples": loaded.inputs.words}
    if is_table(loaded):
        facts["features"] = described(loaded)
        facts |= {"warnings": found} if (found := [*suspicions(loaded)]) else {}
    facts |= {"origin": dict(loaded.origin), "checksum": loaded.checksum}
    if out:  # whole or not at all
        write_facts(out, facts)
    else:
        print_json(facts, indent=2)


@app.command(rich_help_panel=Panel.steps)
def train(
    runs: Annotated[list[str], typer.Argument(help="Ids of runs, or paths of files in theirs.")],
    plan: options.PlanFile,
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
    device: options.Device = "auto",
    workers: Annotated[int, typer.Option(min=1, help=options.THREADS)] = 1,
    checkpoint_minutes: options.CheckpointMinutes = 5.0,
    live: options.Live = "",
) -> None:
    """Train some runs of a plan one after the other; those that are finished are skipped.

    A run that fails, or that the system kills, leaves its error in its folder and does not stop the
    others; the exit code is 3 then. Ctrl-C and the signals TERM, USR1 and HUP stop all of them
    after the round, with a checkpoint.
    """
    from fedbench.engine.machine import Machine, one_thread_a_process
    from fedbench.jobs import train as batch
    from fedbench.plan.plan_file import PlanFile

    one_thread_a_process()
    run_ids = [Path(name).parent.name if "/" in name else name for name in runs]
    machine = Machine(device, workers, checkpoint_minutes=checkpoint_minutes)
    planned = PlanFile(plan).runs(run_ids)  # no folder for an id that is not in the plan

    def train_left(left: Sequence[str]) -> list[str]:
        follow = batch.follower(live, results, batch.say)  # in the process that trains
        return batch.train(planned, left, results, machine, data_dir, batch.say, follow)

    if code := batch.train_in_child(train_left, run_ids, results):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.steps)
def select(
    search: Annotated[str, typer.Argument(help="The id of a search in the plan.")],
    plan: options.PlanFile,
    results: options.Results = options.RESULTS,
) -> None:
    """Choose the best settings of a search from its finished trials."""
    from fedbench.plan import search as searches
    from fedbench.plan.plan_file import PlanFile
    from fedbench.store import Results

    winner = searches.select(PlanFile(plan).searched(search), results)
    write_json(Results(results).winner(search), searches.signed(winner, results))


@app.command(rich_help_panel=Panel.steps)
def collect(
    paper: Annotated[str, typer.Argument(help="The name of a paper in the plan.")],
    plan: options.PlanFile,
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    results: options.Results = options.RESULTS,
    whole: Annotated[bool, typer.Option(help=_WHOLE)] = True,
) -> None:
    """Gather the histories of a paper's finished runs into one frame."""
    from fedbench.jobs import collect as histories
    from fedbench.plan.plan_file import PlanFile
    from fedbench.store import Results, write_frame

    runs = PlanFile(plan).of_paper(paper)
    if not whole:
        finished = Results(results).finished(run.id for run in runs)
        runs = [run for run in runs if run.id in finished]
    write_frame(histories.collect(runs, results), out)


@app.command(rich_help_panel=Panel.steps)
def missing(
    scale: options.Scale = "demo",
    train: Annotated[str, typer.Option(help=_TRAIN)] = "all",
    results: options.Results = options.RESULTS,
) -> None:
    """Fail if runs that were to be trained have failed, after naming each and its error."""
    from fedbench.jobs.status import Watcher
    from fedbench.plan.cost import Speeds
    from fedbench.plan.plan_file import read_plan

    plan = read_plan(results, scale)
    failed = Watcher(plan.to_train(train), results, Speeds()).look().failed
    for run_id, state in failed.items():
        print_line(f"{run_id}: {state.why}")
    if failed:
        raise FedbenchError(f"{len(failed)} runs failed")


@app.command(rich_help_panel=Panel.steps)
def report(
    scale: options.Scale = "demo",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
    copies: Annotated[bool, typer.Option(help=_COPIES)] = True,
    workers: Annotated[int | None, typer.Option(min=1, help=_PROCESSES)] = None,
) -> None:
    """Write the pages, tables and figures of the plan from the collected frames.

    The numbers that a paper prints are read from <paper>.printed.csv beside its YAML file.
    """
    from fedbench.plan.plan_file import read_plan
    from fedbench.report import build
    from fedbench.report.values import collected_frames
    from fedbench.store import Results

    plan = read_plan(results, scale)
    written = build(plan, results, out, workflow / "papers", workers or cores(), copies)
    names = sorted(file.relative_to(out / scale).as_posix() for file in written)
    write_text(out / scale / "files.txt", "\n".join(names) + "\n")
    pages = [file for file in written if file.suffix == ".html"]
    print_line(f"{len(written)} files; open {pages[0]}")
    files = (Results(results).frame(plan.scale, paper) for paper in plan.papers)
    states = map(collected_frames.states, map(collected_frames.read, files))
    planned = {cell.run_id for cell in plan.cells}
    if absent := planned.difference(*states):
        print_line(f"{len(absent):,} of {len(planned):,} runs are missing")


@app.command(rich_help_panel=Panel.steps)
def track(
    scale: options.Scale = "demo",
    uri: Annotated[
        str, typer.Option(envvar="FEDBENCH_TRACKING_URI", show_envvar=False, help=_URI)
    ] = "",
    results: options.Results = options.RESULTS,
) -> None:
    """Copy finished runs of the plan into MLflow; those that are there already are skipped."""
    from fedbench.jobs.mlflow import mirror
    from fedbench.plan.plan_file import read_plan

    plan = read_plan(results, scale)
    added = mirror(plan, results, uri or None)
    of = f"{len(plan.runs):,} planned by {', '.join(plan.papers)}"
    print_line(f"{added:,} runs added to MLflow, of {of}")
