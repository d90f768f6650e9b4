"""The commands for a person: run, list, plan, partition."""

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    AsJson,
    CheckpointMinutes,
    DataFolder,
    Device,
    Live,
    Papers,
    ResultsFolder,
    Scale,
    Tables,
    Workers,
    WorkflowFolder,
    app,
    console,
    sentences,
)

if TYPE_CHECKING:  # other commands must not wait for what `plan` needs
    from fedbench.plan.plan import Plan
    from fedbench.spec import RunSpec

_RULES = (
    "A partition's name, or with parameters '{dl: {alpha: 0.1}}'; several are shown side by side. "
    "Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 --out dp.png"
)
_SET = "parameter=value, for every partition named; may be given several times."
_DATASET = "A data set's name, or with parameters '{file: {path: mine.csv}}'."
_SEED = "Seed of the split: a run's data_seed, or its seed if it has no data_seed."
_HELD_OUT = "Share of the training data that is held out, from 0 to 1."


class Kind(StrEnum):
    """The kinds of things that can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    samplers = "samplers"
    probes = "probes"
    papers = "papers"


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file with the settings of a run.")],
    out: Annotated[
        Path, typer.Option(help="Folder for the run: rounds.parquet, run.json, weights.")
    ],
    data_dir: DataFolder = None,
    device: Device = "auto",
    workers: Workers = None,
    checkpoint_minutes: CheckpointMinutes = 5.0,
    live: Live = "",
) -> None:
    """Train one run; a run that was stopped goes on from its last checkpoint.

    Ctrl-C and the signals TERM, USR1 and HUP stop it after its round, with a checkpoint; a second
    one stops at once.
    """
    with sentences():
        from fedbench.base.plugins import search_also
        from fedbench.paper.named import load_run
        from fedbench.store import RunFolder

        search_also(spec.parent)
        settings = load_run(spec)
        folder = RunFolder(out)
        record = folder.record()
        if record and record.get("id") == settings.id and folder.finished(settings.id):
            _require_same_data(settings, record.get("data", {}).get("checksum", ""), out, data_dir)
            console.print(f"{settings.id} is {record['status']} already; see {out / 'run.json'}")
            return
        from fedbench.cli.live import both, watching
        from fedbench.engine.machine import Machine
        from fedbench.engine.training import run as train
        from fedbench.jobs.trackers import followers

        machine = Machine(device, workers, checkpoint_minutes, keep_model=True)
        follow = followers(live, out, console.print)
        with watching(console, settings) as shown, follow(settings) as sent:
            watch = both(shown, sent)
            result = train(settings, out=out, data_dir=data_dir, machine=machine, watch=watch)
        console.print(f"{settings.id}: {result.status}; files in {out}")


def _require_same_data(settings: "RunSpec", trained: str, out: Path, data_dir: Path | None) -> None:
    """Raise `FedbenchError` if the data here are other data; without any there is no telling."""
    from fedbench.base.errors import FedbenchError
    from fedbench.data.source import load_data

    try:
        now = load_data(settings.dataset.name, settings.dataset.params, data_dir).checksum
    except FedbenchError:
        return
    if trained and now != trained:
        raise FedbenchError(
            f"{out}: was trained on data that have been replaced since (checksum {trained[:12]}, "
            f"now {now[:12]}); delete the folder or give another one with --out"
        )


@app.command("list")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are.

    Parameters are shown with their default and the values allowed. The name of a method, such as
    MOON, may stand among the `parts` of a run or of a paper's level.
    """
    with sentences():
        from fedbench.cli.listing import catalogue, papers

        rows = papers(workflow) if kind is Kind.papers else catalogue(kind.value.removesuffix("s"))
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    _show([{k: _cell(row[k]) for k in ("name", *_COLUMNS[kind is Kind.papers])} for row in rows])


_COLUMNS = (("summary", "parameters"), ("title", "tables", "figures"))


def _cell(value: object) -> str:
    """One parameter per line, `mu = 0.01, a number ≥ 0`; of a named method those that it sets."""
    if isinstance(value, list):
        chosen = [p for p in value if "value" not in p or p["value"] != p.get("default")]
        return "\n".join(f"{p['name']}{_given(p)}, {p['allowed']}" for p in chosen)
    return str(value)


def _given(parameter: dict[str, object]) -> str:
    """The value of a parameter or else its default; that it is required if it has none."""
    if "value" in parameter or "default" in parameter:
        return f" = {parameter.get('value', parameter.get('default'))}"
    return " (required)"


def _show(rows: list[dict[str, str]]) -> None:
    table = Table(*(rows[0] if rows else ["nothing"]))
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


@app.command()
def plan(
    scale: Scale = "demo",
    papers: Papers = "",
    tables: Tables = "",
    as_json: AsJson = False,
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
        from fedbench.plan.outlook import planned
        from fedbench.plan.schedule import schedule, to_json

        chosen = planned(workflow, scale, split(papers), split(tables))
        if check:
            _check(chosen, workflow)
        if as_json:
            sys.stdout.write(to_json(schedule(chosen)))
            return
        show_costs(chosen, workflow, results, data_dir)


def _check(chosen: "Plan", workflow: Path) -> None:
    """Build every choice of the plan once; raises `FedbenchError` on a value that is refused."""
    from fedbench.engine.problem import check_choices
    from fedbench.report.checks import check_figures_and_facts

    check_choices(chosen.runs.values())
    check_figures_and_facts(chosen, workflow / "papers")


def show_costs(
    chosen: "Plan",
    workflow: Path,
    results: Path,
    data_dir: Path | None,
    parts: Sequence[tuple[str, "Plan"]] = (),
) -> None:
    """Print what training each table of a plan costs, then what parts of it cost, by name."""
    from fedbench.data.source import data_folder
    from fedbench.paper.scale import load_scale
    from fedbench.plan.budget import by_table
    from fedbench.plan.speeds import GPU_CORES, measured_speeds

    speeds = measured_speeds(results, load_scale(workflow, chosen.scale).speeds)
    costs = by_table(chosen, speeds, data_folder(data_dir), parts=parts)
    _show([{"what": name} | cost.words() for name, cost in costs.items()])
    console.print(
        f"Hours follow from how fast finished runs in {results} trained the same model. Without "
        "such runs they follow from the speed of one core that the scale's file or else the model "
        f"declares, and a GPU is assumed to be as fast as {GPU_CORES} cores. Hours here are those "
        f"of training alone until the last run ends, on all {os.cpu_count() or 1} cores of this "
        "machine, where one core trains each run. GPU hours are those of one GPU.",
        soft_wrap=True,
    )


@app.command()
def partition(
    rules: Annotated[list[str], typer.Argument(help=_RULES)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    dataset: Annotated[str, typer.Option(help=_DATASET)] = "digits",
    clients: Annotated[int, typer.Option(help="Number of clients.")] = 10,
    seed: Annotated[int, typer.Option(help=_SEED)] = 0,
    validation: Annotated[float, typer.Option(help=_HELD_OUT)] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf or .svg.")] = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Show only this many clients in the picture.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataFolder = None,
) -> None:
    """Show how a data set is divided over clients: the same split that a run would train on.

    Skew says how far clients' label distributions differ: the mean total variation (TV, 0 to 1)
    between a client and all data, and between two clients, and the Jensen–Shannon divergence of all
    clients. A client has 2^H effective classes, where H is the entropy of its labels in bits.
    """
    with sentences():
        from fedbench.base.yamlfile import parse, read_value
        from fedbench.cli.preview import previews
        from fedbench.spec import RunSpec

        base = {"dataset": read_value(dataset), "clients": clients, "validation": validation}
        chosen = [read_value(rule) for rule in rules]
        splits = previews(RunSpec(**base, seed=seed), chosen, parse(settings or []), data_dir)
        if out:
            from fedbench.report.figures.look import write
            from fedbench.report.figures.partitions import PartitionCounts, draw_partitions

            panels = [PartitionCounts(each.title, each.counts) for each in splits]
            write(lambda: draw_partitions(panels, splits[0].heading, first), out)
    if as_json:
        print(json.dumps([each.facts() for each in splits], ensure_ascii=False))
        return
    words = {each.title: each.words() for each in splits}
    _show([{"": k} | {title: each[k] for title, each in words.items()} for k in splits[0].words()])
