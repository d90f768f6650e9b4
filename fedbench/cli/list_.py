"""The command `list`: what there is of methods, data sets, models, papers and the like."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fedbench.cli.app import AsJson, Panel, WorkflowFolder, app, console, sentences
from fedbench.cli.rows import print_rows

if TYPE_CHECKING:  # commands must not wait for what this needs
    from fedbench.cli.listing import Row


class Kind(StrEnum):
    """The kinds of things that can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    samplers = "samplers"
    probes = "probes"
    papers = "papers"


@app.command("list", rich_help_panel=Panel.runs)
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, each with all that is said of it. Default: all."),
    ] = None,
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are.

    Parameters are shown with their default and the values allowed. The name of a method, such as
    MOON, may stand among the `parts` of a run or of a paper's level.
    """
    with sentences():
        from fedbench.cli.listing import catalogue, overview, papers

        rows_of = catalogue if as_json else overview
        rows = papers(workflow) if kind is Kind.papers else rows_of(kind.value.removesuffix("s"))
        rows = _named(rows, kind, names or [])
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    print_rows(
        [{k: _cell(row[k]) for k in ("name", *_COLUMNS[kind is Kind.papers])} for row in rows]
    )
    for row in rows if names else []:
        if about := row.get("about"):
            console.print(Text(f"{row['name']}\n{about}\n"))


_COLUMNS = (("summary", "parameters"), ("title", "tables", "figures"))


def _named(rows: "list[Row]", kind: Kind, names: list[str]) -> "list[Row]":
    """The rows of these names, in any case; all rows without a name."""
    from fedbench.base.errors import unknown

    known = {row["name"].lower() for row in rows}
    for name in names:
        if name.lower() not in known:
            raise unknown(kind.value.removesuffix("s"), name, (row["name"] for row in rows))
    wanted = {name.lower() for name in names} or known
    return [row for row in rows if row["name"].lower() in wanted]


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
