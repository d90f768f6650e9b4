"""The command `list`: what there is of methods, data sets, models, papers and the like."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.cli.catalogue import Row


class Kind(StrEnum):
    """The kinds of things that can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    shifts = "shifts"
    samplers = "samplers"
    work = "work"
    probes = "probes"
    papers = "papers"


@app.command("list", rich_help_panel=Panel.runs)
def list_(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list. Default: how many there are of each.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, each with all that is said of it. Default: all."),
    ] = None,
    full: options.Full = False,
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are.

    With `--full` or a name parameters are shown with their default and the values allowed. The name
    of a method, such as MOON, may stand among the `parts` of a run or of a paper's level.
    """
    from fedbench.cli.catalogue import catalogue

    full = full or bool(names)
    if kind is None:
        counts = {each: len(_rows(each, workflow)) for each in Kind}
        console.print(table_of({"kind": k, "there are": str(n)} for k, n in counts.items()))
        print_line("One kind: fedbench list methods. All about one: fedbench list methods FedDyn")
        return
    word = kind.value.removesuffix("s")
    rows = catalogue(word) if as_json and kind is not Kind.papers else _rows(kind, workflow, full)
    rows = _named(rows, word, names or [])
    if as_json:
        print_json(rows, indent=2)
        return
    columns = ["title", "tables", "figures", "claims"] if kind is Kind.papers else ["summary"]
    columns += ["parameters"] * (kind is not Kind.papers and full)
    shown = ({column: text_of(row[column]) for column in ("name", *columns)} for row in rows)
    console.print(table_of(shown))
    for row in rows if full else []:
        if about := row.get("about"):
            console.print(Text(f"{row['name']}\n{about}\n"))


def _rows(kind: Kind, workflow: Path, full: bool = False) -> "list[Row]":
    from fedbench.cli.catalogue import papers, summaries

    if kind is Kind.papers:
        return papers(workflow)
    return summaries(kind.value.removesuffix("s"), full=full)


def _named(rows: "list[Row]", kind: str, names: list[str]) -> "list[Row]":
    """The rows of these names, in any case; all rows without a name."""
    from fedbench.base.errors import unknown

    known = {row["name"].lower() for row in rows}
    for name in names:
        if name.lower() not in known:
            raise unknown(kind, name, (row["name"] for row in rows))
    wanted = {name.lower() for name in names} or known
    return [row for row in rows if row["name"].lower() in wanted]


def text_of(value: object) -> str:
    """One parameter per line, `mu = 0.01, a number ≥ 0`; of a named method those that it sets.

    Of things by their keys the number is told.
    """
    if isinstance(value, dict):
        return str(len(value))
    if isinstance(value, list):
        chosen = [p for p in value if "value" not in p or p["value"] != p.get("default")]
        return "\n".join(f"{p['name']}{_given(p)}, {p['allowed']}" for p in chosen)
    return str(value)


def _given(parameter: dict[str, object]) -> str:
    """The value of a parameter or else its default; that it is required if it has none."""
    if "value" in parameter or "default" in parameter:
        return f" = {parameter.get('value', parameter.get('default'))}"
    return " (required)"
