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
_COLOURS = {"supported": "green", "not supported": "red", "holds": "green", "fails": "red"}


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
    verdicts.add_row("printed", _coloured(row["printed"]))
    here = "; ".join(filter(None, (row["measured"], row["reason"])))
    verdicts.add_row("here", _coloured(here))
    if row["basis"]:
        verdicts.add_row("by", Text(row["basis"], "dim"))
    whose = Text.assemble((row["claim"], "bold"), " (ours)" if row["ours"] else "")
    return Group(whose, Text(row["says"]), verdicts)


def _coloured(words: str) -> Text:
    """The words, of which a verdict at the start has its colour."""
    text = Text(words)
    for verdict, colour in _COLOURS.items():
        if words.startswith(verdict):
            text.stylize(f"bold {colour}", 0, len(verdict))
    return text


def _counts(rows: list[dict[str, Any]]) -> str:
    """How many claims there are, and how many have each verdict."""
    from fedbench.report.claims.page import FILTERS

    counted = [row for row in rows if row["counts"]]
    found = Counter(tag for row in counted for tag in row["tags"])
    said = [f"{len(counted)} claim{'' if len(counted) == 1 else 's'}"]
    for begin, of in (
        ("printed-", "By the printed numbers"),
        ("here-", "By the runs here"),
        ("reading-", "Under a reading of ours"),
    ):
        tags = [tag for tag in FILTERS if tag.startswith(begin) and found[tag]]
        counts = ", ".join(f"{found[tag]} {FILTERS[tag]}" for tag in tags)
        said += [f"{of}: {counts}"] if counts else []
    return ". ".join(said) + "."
