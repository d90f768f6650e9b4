"""The command `list`: what there is of methods, data sets, models, papers and the like."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.app import AsJson, Panel, WorkflowFolder, app, sentences
from fedbench.cli.rows import print_rows


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
    print_rows(
        [{k: _cell(row[k]) for k in ("name", *_COLUMNS[kind is Kind.papers])} for row in rows]
    )


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
