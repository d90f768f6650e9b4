"""The command `claims`: the verdict on every claim, by its printed numbers and by the runs here."""

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    AsJson,
    Panel,
    Papers,
    ResultsFolder,
    Scale,
    WorkflowFolder,
    app,
    console,
    sentences,
)

_ONLY = (
    "Only claims that one of these words describes, separated by commas: here-supported, "
    "here-not-supported, here-undecided or here-not-tested by the runs; reading-supported, "
    "reading-not-supported or reading-undecided where that rests on a reading of ours; "
    "printed-holds, printed-fails, printed-undecided or printed-none by the paper's own numbers."
)
_COLOURS = {"supported": "green", "not-supported": "red", "holds": "green", "fails": "red"}
_GROUPS = {
    "printed": "By the printed numbers",
    "here": "By the runs here",
    "reading": "Under a reading of ours",
}


@app.command(rich_help_panel=Panel.papers)
def claims(
    scale: Scale = "demo",
    papers: Papers = "",
    only: Annotated[str, typer.Option("--only", metavar="WORDS", help=_ONLY)] = "",
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
) -> None:
    """Say which claims of the papers hold, by their printed numbers and by the runs here."""
    with sentences():
        from fedbench.plan.plan import make_plan
        from fedbench.report.claims.page import verdicts

        plan = make_plan(workflow, scale, split(papers))
        rows = verdicts(plan, results, workflow / "papers", split(only))
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for paper, members in groupby(rows, key=lambda row: row["paper"]):
        console.print(Text(paper, "bold underline"))
        for row in members:
            console.print(Padding(_claim(row), (0, 0, 1, 2)))
    console.print(_counts(rows), soft_wrap=True)


def _claim(row: dict[str, Any]) -> Group:
    """Its key and text, and below them the verdicts with what they rest on."""
    verdicts = Table.grid(padding=(0, 2))
    verdict = {"none": "not printed"}.get(row["printed_verdict"], row["printed_verdict"])
    colour = _COLOURS.get(row["printed_verdict"])
    verdicts.add_row("printed", _coloured(verdict, colour, row["printed"]))
    verdicts.add_row("here", _coloured(row["measured"], _COLOURS.get(row["mark"]), row["reason"]))
    if row["basis"]:
        verdicts.add_row("by", Text(row["basis"], "dim"))
    whose = Text.assemble((row["claim"], "bold"), " (ours)" if row["ours"] else "")
    return Group(whose, Text(row["says"]), verdicts)


def _coloured(verdict: str, colour: str | None, why: str) -> Text:
    """A verdict in its colour, and what it rests on."""
    text = Text.assemble((verdict, f"bold {colour}" if colour else ""))
    return text.append(f": {why}") if why else text


def _counts(rows: list[dict[str, Any]]) -> str:
    """How many claims there are, and how many have each verdict."""
    from fedbench.report.claims.page import FILTERS

    counted = [row for row in rows if row["counts"]]
    found = Counter(tag for row in counted for tag in row["tags"])
    said = [f"{len(counted)} claim{'' if len(counted) == 1 else 's'}"]
    for group, of in _GROUPS.items():
        shown = [x for x in FILTERS.values() if x.group == group and found[x.tag]]
        counts = ", ".join(f"{found[x.tag]} {x.words}" for x in shown)
        said += [f"{of}: {counts}"] if counts else []
    return ". ".join(said) + "."
