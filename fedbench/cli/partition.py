"""The command `partition`: how a data set is divided over clients, without training."""

from pathlib import Path
from typing import Annotated

import typer

from fedbench.base.yamlfile import parse, read_value
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, table_of
from fedbench.spec import RunSpec

_RULES = (
    "A partition's name, or with parameters dl:alpha=0.1; several are shown side by side. "
    "Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 --out dp.png"
)
_SET = "parameter=value, for every partition named; may be given several times."
_SEED = "Seed of the split: a run's data_seed, or its seed if it has no data_seed."
_HELD_OUT = "Share of the training data that is held out, from 0 to 1."
_FIRST = "Show only this many clients in the picture."


@app.command(rich_help_panel=Panel.runs)
def partition(
    rules: Annotated[list[str], typer.Argument(help=_RULES)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    dataset: Annotated[str, typer.Option(help=options.DATA_SET)] = "digits",
    clients: Annotated[int, typer.Option(help="Number of clients.")] = 10,
    seed: Annotated[int, typer.Option(help=_SEED)] = 0,
    validation: Annotated[float, typer.Option(help=_HELD_OUT)] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf or .svg.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help=_FIRST)] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataFolder = None,
) -> None:
    """Show how a data set is divided over clients: the same split that a run would train on.

    Skew says how far clients' label distributions differ: the mean total variation (TV, 0 to 1)
    between a client and all data, and between two clients, and the Jensen–Shannon divergence of all
    clients. A client has 2^H effective classes, where H is the entropy of its labels in bits.
    """
    from fedbench.cli.partition_summary import previews

    base = {"dataset": read_value(dataset), "clients": clients, "validation": validation}
    chosen = [read_value(rule) for rule in rules]
    splits = previews(RunSpec(**base, seed=seed), chosen, parse(settings or []), data_dir)
    if out:
        from fedbench.report.figures.save import write
        from fedbench.report.kinds.bars import draw_partitions

        panels = [(each.title, each.counts) for each in splits]
        _, lost = write(lambda: draw_partitions(panels, splits[0].heading, first), out)
        if lost and out.suffix != ".svg":
            typer.echo(f"{out}: boxes for {lost}: no font installed has them", err=True)
    if as_json:
        print_json([each.facts() for each in splits])
        return
    words = {each.title: each.words() for each in splits}
    lines = dict.fromkeys(line for each in words.values() for line in each)
    texts = [{"": x} | {title: each.get(x, "0") for title, each in words.items()} for x in lines]
    console.print(table_of(texts))
