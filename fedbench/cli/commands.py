"""The commands for a person: run, list, plan, partition, claims."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    AsJson,
    Data,
    Device,
    Mode,
    Names,
    Results,
    Scale,
    Workflow,
    app,
    console,
    sentences,
)

_RULES = (
    "A name, or with parameters '{dl: {alpha: 0.1}}' as in a spec; several stand side by side. "
    "Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 --out dp.png"
)
_SET = "parameter=value, for every partition named; may be given several times."
_DATASET = "A name, or with parameters '{name: {parameter: value}}'."


class Kind(StrEnum):
    """What can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    samplers = "samplers"
    probes = "probes"
    papers = "papers"


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A YAML file with RunSpec fields.")],
    out: Annotated[Path, typer.Option(help="Folder for rounds.parquet, run.json and weights.")],
    data_dir: Data = None,
    device: Device = "auto",
    mode: Mode = "auto",
) -> None:
    """Train one run; a killed one is resumed, a finished one is kept."""
    with sentences():
        from fedbench.base.plugins import search_also
        from fedbench.base.yamlfile import load
        from fedbench.spec import RunSpec
        from fedbench.store import RunFolder

        search_also(spec.parent)
        settings = load(spec, RunSpec)
        folder = RunFolder(out)
        record = folder.record()
        if record and record.get("id") == settings.id and folder.finished(settings.id):
            console.print(f"{settings.id} is {record['status']} already; see {out / 'run.json'}")
            return
        from fedbench.cli.live import watching
        from fedbench.engine.machine import Machine
        from fedbench.engine.training import run as train

        machine = Machine(device=device, mode=mode, keep_model=True)  # type: ignore[arg-type]  # checked
        with watching(console, settings) as watch:
            result = train(settings, out=out, data_dir=data_dir, machine=machine, watch=watch)
        console.print(f"{settings.id}: {result.status}; files in {out}")


@app.command("list")
def list_(kind: Kind, as_json: AsJson = False, workflow: Workflow = Path("workflow")) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are."""
    with sentences():
        from fedbench.cli.listing import catalogue, papers

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
    with sentences():
        from fedbench.paper.scale import load_scale
        from fedbench.plan.budget import GPU_CORES, budget, by_table, measured_speeds
        from fedbench.plan.outlook import planned
        from fedbench.plan.schedule import schedule, to_json

        found = planned(workflow, scale, split(papers), split(tables))
        if check:
            from fedbench.engine.problem import check_choices
            from fedbench.report.checks import check_figures_and_facts

            check_choices(found.runs.values())
            check_figures_and_facts(found, workflow / "papers")
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
    with sentences():
        from fedbench.base.yamlfile import parse, read_value
        from fedbench.cli.preview import previews
        from fedbench.spec import RunSpec

        base = {"dataset": read_value(dataset), "clients": clients, "validation": validation}
        chosen = [read_value(rule) for rule in rules]
        found = previews(RunSpec(**base, seed=seed), chosen, parse(settings or []), data_dir)
        if out:
            from fedbench.report.figures.look import write
            from fedbench.report.figures.partitions import PartitionCounts, draw_partitions

            panels = [PartitionCounts(each.title, each.counts) for each in found]
            write(lambda: draw_partitions(panels, found[0].heading, first), out)
    if as_json:
        print(json.dumps([each.facts() for each in found], ensure_ascii=False))
        return
    words = {each.title: each.words() for each in found}
    _show([{"": k} | {title: each[k] for title, each in words.items()} for k in found[0].words()])


@app.command()
def claims(
    scale: Scale = "demo",
    papers: Names = "",
    as_json: AsJson = False,
    workflow: Workflow = Path("workflow"),
    results: Results = Path("results"),
) -> None:
    """Say which of the papers' claims hold, on their printed numbers and on what was measured."""
    with sentences():
        from fedbench.plan.outlook import planned
        from fedbench.report.claims.page import verdicts

        rows = verdicts(planned(workflow, scale, split(papers)), results, workflow / "papers")
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    _show(rows)
