"""The command line: one command a station, each a thin layer over a function."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedbench import registry
from fedbench.errors import FedbenchError
from fedbench.layout import split

app = typer.Typer(
    help="Compare federated-learning methods and check their papers' claims.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console(markup=False, emoji=False)  # what is printed may come from a file

Results = Annotated[Path, typer.Option(help="Folder of run folders and collected frames.")]
Workflow = Annotated[Path, typer.Option(help="Folder with papers/ and scales/.")]
Data = Annotated[Path | None, typer.Option(help="Folder with data files (default: FEDBENCH_DATA).")]
Scale = Annotated[str, typer.Option(help="A file in workflow/scales, without its ending.")]
Names = Annotated[str, typer.Option(help="Names separated by commas; all by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Device = Annotated[str, typer.Option(help="'auto', 'cpu', 'cuda' or 'cuda:1'.")]
Mode = Annotated[str, typer.Option(help="'loop' over clients, 'map' (vmap), or 'auto'.")]
_RULES = (
    "A name, or with parameters '{dl: {alpha: 0.1}}' as in a spec; several stand side by side. "
    "Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 --out dp.png"
)
_SET = "parameter=value, for every partition named; may be given several times."
_PARAMETER = "parameter=value of the data set; may be given several times."
_DATASET = "A name, or with parameters '{name: {parameter: value}}'."
PlanFile = Annotated[Path, typer.Option(help="What `fedbench plan --json` wrote.")]


class Kind(StrEnum):
    """What can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    samplers = "samplers"
    probes = "probes"
    papers = "papers"


@contextmanager
def _sentences() -> Iterator[None]:
    """Bad input ends in one sentence and exit code 2."""
    try:
        yield
    except FedbenchError as error:
        said = Text.assemble(("error:", "red"), f" {error}")
        Console(stderr=True).print(said, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file with RunSpec fields.")],
    out: Annotated[Path, typer.Option(help="Folder for rounds.parquet, run.json and weights.")],
    data_dir: Data = None,
    device: Device = "auto",
    mode: Mode = "auto",
) -> None:
    """Train one run; a killed one is resumed, a finished one is kept."""
    with _sentences():
        from fedbench.spec import RunSpec
        from fedbench.store import RunFolder
        from fedbench.yamlfile import load

        settings = load(spec, RunSpec)
        record = RunFolder(out).record()
        if record and record.get("id") == settings.id:
            console.print(f"{settings.id} is {record['status']} already; see {out / 'run.json'}")
            return
        from fedbench.engine import run as train
        from fedbench.live import watching
        from fedbench.machine import Machine

        machine = Machine(device=device, mode=mode, keep_model=True)  # type: ignore[arg-type]  # checked
        with watching(console, settings) as watch:
            result = train(settings, out=out, data_dir=data_dir, machine=machine, watch=watch)
        console.print(f"{settings.id}: {result.status}; files in {out}")


@app.command("list")
def list_(kind: Kind, as_json: AsJson = False, workflow: Workflow = Path("workflow")) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are."""
    with _sentences():
        from fedbench.listing import catalogue, papers

        rows = papers(workflow) if kind is Kind.papers else catalogue(kind.value.removesuffix("s"))
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    _show([{k: _cell(row[k]) for k in ("name", *_COLUMNS[kind is Kind.papers])} for row in rows])


_COLUMNS = (("summary", "parameters"), ("title", "tables", "figures"))


def _cell(value: object) -> str:
    """Parameters as `name = default`, of a named method only those it sets; the rest as it is."""
    if isinstance(value, list):
        chosen = [p for p in value if "value" not in p or p["value"] != p["default"]]
        return "\n".join(f"{p['name']} = {p.get('value', p['default'])}" for p in chosen)
    return str(value)


def _show(rows: list[dict[str, str]]) -> None:
    table = Table(*(rows[0] if rows else ["nothing"]))
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


@app.command()
def plan(
    scale: Scale = "demo",
    papers: Names = "",
    tables: Names = "",
    as_json: AsJson = False,
    check: Annotated[
        bool, typer.Option(help="Also build every part, model, partition and option of a figure.")
    ] = False,
    workflow: Workflow = Path("workflow"),
    results: Results = Path("results"),
) -> None:
    """Say what a scale would train: runs, sample passes, hours here; imports no torch."""
    with _sentences():
        from fedbench.budget import GPU_CORES, budget, by_table, measured_speeds
        from fedbench.outlook import planned
        from fedbench.scale import load_scale
        from fedbench.schedule import schedule, to_json

        found = planned(workflow, scale, split(papers), split(tables))
        if check:
            from fedbench.build import check_choices
            from fedbench.report.checks import check_shown

            check_choices(found.runs.values())
            check_shown(found, workflow / "papers")
        if as_json:
            sys.stdout.write(to_json(schedule(found)))
            return
        speeds = measured_speeds(results, load_scale(workflow, scale).speeds)
        costs = by_table(found, speeds) | {
            "all, shared runs once": budget(found.runs.values(), speeds)
        }
    _show([{"what": name} | cost.words() for name, cost in costs.items()])
    console.print(
        f"Hours rest on the speed of finished runs of a model in {results}, else on the figure for "
        "one core in the scale's file or the model's own; a GPU without such runs is taken for "
        f"{GPU_CORES} cores.",
        soft_wrap=True,
    )


@app.command()
def data(
    name: str,
    settings: Annotated[list[str] | None, typer.Option("--set", help=_PARAMETER)] = None,
    data_dir: Data = None,
) -> None:
    """Load a data set (downloading it where there is a network) and print its facts as JSON."""
    with _sentences():
        from fedbench.data.folder import data_folder
        from fedbench.settings import parse

        source = registry.build("dataset", name, parse(settings or []))
        found = source.load(data_folder(data_dir))
    facts = {"name": found.name, "train": len(found.y_train), "test": len(found.y_test)}
    print(json.dumps(facts | {"classes": found.classes, "origin": dict(found.origin)}, indent=2))


@app.command()
def partition(
    rules: Annotated[list[str], typer.Argument(help=_RULES)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    dataset: Annotated[str, typer.Option(help=_DATASET)] = "digits",
    clients: int = 10,
    seed: Annotated[int, typer.Option(help="A run's data_seed (its seed, if it has none).")] = 0,
    validation: Annotated[float, typer.Option(help="Share of the training data held out.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Picture to draw: .png, .pdf or .svg.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Clients in the picture.")] = None,
    as_json: AsJson = False,
    data_dir: Data = None,
) -> None:
    """Show how a data set is divided over clients: the very split that a run would train on.

    Skew compares label distributions: total variation (TV, 0 to 1) of a client to all data and to
    another client, on average, and the Jensen–Shannon divergence of all clients. A client has 2^H
    effective classes, where H is the entropy of its labels in bits.
    """
    with _sentences():
        from fedbench.preview import previews
        from fedbench.settings import parse
        from fedbench.spec import RunSpec
        from fedbench.yamlfile import read_value

        base = {"dataset": read_value(dataset), "clients": clients, "validation": validation}
        chosen = [read_value(rule) for rule in rules]
        found = previews(RunSpec(**base, seed=seed), chosen, parse(settings or []), data_dir)
        if out:
            from fedbench.report.bubbles import Panel, bubbles
            from fedbench.report.look import write

            panels = [Panel(each.title, each.counts) for each in found]
            write(lambda: bubbles(panels, found[0].heading, first), out)
    if as_json:
        print(json.dumps([each.facts() for each in found], ensure_ascii=False))
        return
    words = {each.title: each.words() for each in found}
    _show([{"": k} | {title: each[k] for title, each in words.items()} for k in found[0].words()])


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
    with _sentences():
        from fedbench.machine import Machine, one_thread_a_process
        from fedbench.schedule import load_schedule
        from fedbench.worker import train as work

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
    with _sentences():
        from fedbench.files import write_text
        from fedbench.schedule import load_schedule
        from fedbench.search import select as choose
        from fedbench.search import winner_file
        from fedbench.trials import search_id

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
    with _sentences():
        from fedbench.collect import collect as gather
        from fedbench.frame import write_frame
        from fedbench.schedule import load_schedule

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
    with _sentences():
        from fedbench.outlook import planned
        from fedbench.report import build

        found = planned(workflow, scale, split(papers), split(tables))
        written = build(found, results, out, workflow / "papers")
        pages = [file for file in written if file.suffix == ".html"]
        console.print(f"{len(written)} files; open {pages[0]}", soft_wrap=True)


@app.command()
def claims(
    scale: Scale = "demo",
    papers: Names = "",
    as_json: AsJson = False,
    workflow: Workflow = Path("workflow"),
    results: Results = Path("results"),
) -> None:
    """Say which of the papers' claims hold, on their printed numbers and on what was measured."""
    with _sentences():
        from fedbench.outlook import planned
        from fedbench.report.claims_view import verdicts

        rows = verdicts(planned(workflow, scale, split(papers)), results, workflow / "papers")
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    _show(rows)


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
    with _sentences():
        from fedbench.outlook import planned
        from fedbench.track import mirror

        found = planned(workflow, scale, split(papers), split(tables))
        added = mirror(found, results, uri or None)
        console.print(f"{added} runs added to MLflow, {len(found.runs)} in this plan")
