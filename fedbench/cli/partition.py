"""The command `partition`: how a data set is divided over clients."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.cli.app import AsJson, DataFolder, Panel, app, sentences
from fedbench.cli.rows import print_rows

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.cli.preview import Preview

_Rules = Annotated[
    list[str],
    typer.Argument(
        help="A partition's name, or with parameters '{dl: {alpha: 0.1}}'; several are shown side "
        "by side. Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 "
        "--out dp.png"
    ),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="parameter=value, for every partition named; may be given several times."
    ),
]
_DataSet = Annotated[
    str,
    typer.Option(help="A data set's name, or with parameters '{file: {path: mine.csv}}'."),
]
_Clients = Annotated[int, typer.Option(help="Number of clients.")]
_Seed = Annotated[
    int,
    typer.Option(help="Seed of the split: a run's data_seed, or its seed if it has no data_seed."),
]
_HeldOut = Annotated[
    float, typer.Option(help="Share of the training data that is held out, from 0 to 1.")
]
_Out = Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf or .svg.")]
_First = Annotated[
    int | None, typer.Option(min=1, help="Show only this many clients in the picture.")
]


@app.command(rich_help_panel=Panel.runs)
def partition(
    rules: _Rules,
    settings: _Settings = None,
    dataset: _DataSet = "digits",
    clients: _Clients = 10,
    seed: _Seed = 0,
    validation: _HeldOut = 0.0,
    out: _Out = None,
    first: _First = None,
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
            _draw(splits, out, first)
    if as_json:
        print(json.dumps([each.facts() for each in splits]))
    else:
        _print(splits)


def _draw(splits: "list[Preview]", out: Path, first: int | None) -> None:
    from fedbench.report.figures.save import write
    from fedbench.report.kinds.bubbles import PartitionCounts, draw_partitions

    panels = [PartitionCounts(each.title, each.counts) for each in splits]
    drawn = write(lambda: draw_partitions(panels, splits[0].heading, first), out)
    if drawn.missing_letters and out.suffix != ".svg":
        typer.echo(
            f"{out}: boxes for {drawn.missing_letters}: no font installed has them", err=True
        )


def _print(splits: "list[Preview]") -> None:
    words = {each.title: each.words() for each in splits}
    lines = dict.fromkeys(line for each in words.values() for line in each)
    print_rows(
        [{"": k} | {title: each.get(k, "0") for title, each in words.items()} for k in lines]
    )
