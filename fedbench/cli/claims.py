"""The command `claims`: the verdict on every claim, by its printed numbers and by the runs here."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of

if TYPE_CHECKING:
    from fedbench.plan.plan import Plan

_ONLY = (
    "Only claims that one of these words describes, separated by commas: here-supported, "
    "here-not-supported, here-undecided or here-not-tested by the runs; reading-supported, "
    "reading-not-supported or reading-undecided where that rests on a reading of ours; "
    "printed-holds, printed-fails, printed-undecided or printed-none by the paper's own numbers."
)
_COST = (
    "Only claims of which runs are missing, the cheapest in hours of this machine first, "
    "searches included. What a scale leaves out needs another scale."
)
_COLOURS = {"supported": "green", "not-supported": "red", "holds": "green", "fails": "red"}
_GROUPS = {
    "printed": "By the printed numbers",
    "here": "By the runs here",
    "reading": "Under a reading of ours",
}


@app.command(rich_help_panel=Panel.papers)
def claims(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    only: Annotated[str, typer.Option("--only", metavar="WORDS", help=_ONLY)] = "",
    full: options.Full = False,
    cost: Annotated[bool, typer.Option("--cost", help=_COST)] = False,
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
) -> None:
    """Say which claims of the papers hold, by their printed numbers and by the runs here.

    First how many; then a line for each, or with `--full` all that its verdict rests on.
    """
    from fedbench.plan.plan import make_plan
    from fedbench.report.claims.page import verdicts

    plan = make_plan(workflow, scale, split(papers))
    judged = verdicts(plan, results, workflow / "papers", split(only))
    if as_json:
        print_json(judged, indent=2)
        return
    print_line(_counts(judged))
    if cost:
        console.print(table_of(_costs(plan, judged, workflow, results)))
        return
    for paper, members in groupby(judged, key=lambda claim: claim["paper"]):
        console.print(Text(f"\n{paper}", "bold underline"))
        if full:
            for claim in members:
                console.print(Padding(_verdicts(claim), (0, 0, 1, 2)))
        else:
            console.print(_lines(members))


def _costs(
    plan: "Plan", judged: list[dict[str, Any]], workflow: Path, results: Path
) -> Iterable[dict[str, str]]:
    """The claims whose runs are not all finished, with the hours that they take, cheapest first."""
    from fedbench.paper.scale import load_scale
    from fedbench.plan.cost import hours_left, in_words, measured_speeds
    from fedbench.store import Results

    claims = {f"{claim['paper']}.{claim['claim']}": claim for claim in judged}
    runs = Results(results)
    finished = {run_id for run_id in plan.runs if runs.run(run_id).record() is not None}
    speeds = measured_speeds(results, load_scale(workflow, plan.scale).speeds)
    asked = {name: {*claim["runs"]} for name, claim in claims.items()}
    hours = hours_left(plan, asked, speeds, finished)
    missing = {name: len(asked[name] - finished) for name in asked}
    for name in sorted(filter(missing.get, hours), key=lambda name: hours[name]):
        told = {"runs missing": str(missing[name]), "hours here": in_words(hours[name])}
        yield {"claim": name, **told, "verdict": claims[name]["measured"]}


def _lines(judged: Iterable[dict[str, Any]]) -> Table:
    """A line for each claim: its key, its verdict by the runs here, and how its text begins."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for claim in judged:
        verdict = _coloured(claim["measured"], claim["mark"], "")
        table.add_row(Text(claim["claim"], "bold"), verdict, Text(claim["says"]))
    return table


def _verdicts(claim: dict[str, Any]) -> Group:
    """Its key and text, and below them the verdicts with what they rest on."""
    table = Table.grid(padding=(0, 2))
    printed = {"none": "not printed"}.get(claim["printed_verdict"], claim["printed_verdict"])
    table.add_row("printed", _coloured(printed, claim["printed_verdict"], claim["printed"]))
    table.add_row("here", _coloured(claim["measured"], claim["mark"], claim["reason"]))
    if claim["basis"]:
        table.add_row("by", Text(claim["basis"], "dim"))
    name = Text.assemble((claim["claim"], "bold"), " (ours)" if claim["ours"] else "")
    return Group(name, Text(claim["says"]), table)


def _coloured(words: str, verdict: str, why: str) -> Text:
    """A verdict in words and in its colour, and what it rests on."""
    colour = _COLOURS.get(verdict)
    text = Text.assemble((words, f"bold {colour}" if colour else ""))
    return text.append(f": {why}") if why else text


def _counts(judged: list[dict[str, Any]]) -> str:
    """How many claims there are, and how many have each verdict."""
    from fedbench.report.claims.page import FILTERS

    counted = [claim for claim in judged if claim["counts"]]
    found = Counter(tag for claim in counted for tag in claim["tags"])
    sentences = [f"{len(counted)} claim{'' if len(counted) == 1 else 's'}"]
    for group, title in _GROUPS.items():
        shown = [each for each in FILTERS.values() if each.group == group and found[each.tag]]
        counts = ", ".join(f"{found[each.tag]} {each.words}" for each in shown)
        sentences += [f"{title}: {counts}"] if counts else []
    return ". ".join(sentences) + "."
