"""The commands `claims` and `check`: all verdicts; one of them, its runs, and one run again."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from fedbench.base.errors import FedbenchError, require_among
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of
from fedbench.cli.init_export_restore import PUBLISHED

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.plan.plan import Plan
    from fedbench.report.claims.finding import Finding
    from fedbench.store import Results

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
    only: Annotated[str, typer.Option(metavar="WORDS", help=_ONLY)] = "",
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
        print_json([*_costs(plan, judged, results)] if cost else judged, indent=2)
        return
    print_line(_counts(judged))
    if cost:
        console.print(table_of(_costs(plan, judged, results)))
        return
    for paper, members in groupby(judged, key=lambda claim: claim["paper"]):
        console.print(Text(f"\n{paper}", "bold underline"))
        last = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        lines = Table.grid(
            Column(no_wrap=True), Column(no_wrap=True), last, padding=(0, 2), expand=True
        )
        for claim in members:
            if full:
                console.print(Padding(_verdicts(claim), (0, 0, 1, 2)))
            else:
                verdict = _coloured(claim["measured"], claim["mark"], "")
                lines.add_row(Text(claim["claim"], "bold"), verdict, Text(claim["says"]))
        if not full:
            console.print(lines)


def _costs(plan: "Plan", judged: list[dict[str, Any]], results: Path) -> Iterable[dict[str, str]]:
    from fedbench.plan.cost import hours_left, in_words, measured_speeds
    from fedbench.store import Results

    claims = {f"{claim['paper']}.{claim['claim']}": claim for claim in judged}
    finished = Results(results).finished(plan.runs)
    asked = {name: {*claim["runs"]} for name, claim in claims.items()}
    hours = hours_left(plan, asked, measured_speeds(results, plan.cuts.speeds), finished)
    missing = {name: len(runs - finished) for name, runs in asked.items()}
    for name in sorted(filter(missing.get, hours), key=lambda name: hours[name]):
        told = {"runs missing": str(missing[name]), "hours here": in_words(hours[name])}
        yield {"claim": name, **told, "verdict": claims[name]["measured"]}


def _verdicts(claim: dict[str, Any]) -> Group:
    table = Table.grid(padding=(0, 2))
    printed = {"none": "not printed"}.get(claim["printed_verdict"], claim["printed_verdict"])
    table.add_row("printed", _coloured(printed, claim["printed_verdict"], claim["printed"]))
    table.add_row("here", _coloured(claim["measured"], claim["mark"], claim["reason"]))
    if claim["basis"]:
        table.add_row("by", Text(claim["basis"], "dim"))
    name = Text.assemble((claim["claim"], "bold"), " (ours)" if claim["ours"] else "")
    return Group(name, Text(claim["says"]), table)


def _coloured(words: str, verdict: str, why: str) -> Text:
    colour = _COLOURS.get(verdict)
    reason = f": {why}" if why else ""
    return Text.assemble((words, f"bold {colour}" if colour else ""), reason)


def _counts(judged: list[dict[str, Any]]) -> str:
    from fedbench.report.claims.page import FILTERS

    counted = [claim for claim in judged if claim["counts"]]
    found = Counter(tag for claim in counted for tag in claim["tags"])
    sentence = f"{len(counted)} claim{'' if len(counted) == 1 else 's'}."
    for group, title in _GROUPS.items():
        shown = [tag for tag in FILTERS if tag.startswith(group) and found[tag]]
        counts = ", ".join(f"{found[tag]} {FILTERS[tag]}" for tag in shown)
        sentence += f" {title}: {counts}." * bool(counts)
    return sentence


_CLAIM = "A claim, as `rmfl.better`; of a paper alone, as `rmfl`, the claims are listed."
_TOLERANCE = 0.02  # on another processor or with other packages, relative to numbers above 1


@app.command(rich_help_panel=Panel.papers)
def check(
    claim: Annotated[str, typer.Argument(help=_CLAIM)],
    scale: options.Scale = "cpu",
    train: Annotated[bool, typer.Option(help="Train one of its runs again, and compare.")] = True,
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Check a claim of a paper: its text, the verdict, the runs behind it, what they cost.

    The quickest run of the more accurate half is trained again. With the same packages on the same
    processor each bit must be the same, elsewhere the numbers or the accuracy nearly so; otherwise
    the exit code is 1. Published runs that are not among the results are restored first.
    """
    from fedbench.plan.plan import make_plan
    from fedbench.store import Results

    paper, _, key = claim.partition(".")
    plan, folders = make_plan(workflow, scale, (paper,)), Results(results)
    restored, judged = _restored_and_judged(plan, paper, folders, workflow)
    found = {each.key: each for each in judged}
    if not key:
        claims = {f"{paper}.{k}": x for k, x in found.items()}
        rows = ({"claim": k, "verdict": x.label, "says": x.claim.text} for k, x in claims.items())
        console.print(table_of(rows))
        return
    require_among("", f"claim of {paper}", key, found)
    runs = list(dict.fromkeys(run for row in found[key].rows for run in row.runs))
    records = ((run, folders.run(run).record()) for run in runs)
    seconds = {run: sum(record["seconds"].values()) for run, record in records if record}
    print_line(f"{paper}.{key}: {found[key].claim.text}")
    _print_finding(found[key], plan, runs, seconds, restored)
    if train and seconds:
        _train_again(plan, seconds, folders, data_dir)


def _restored_and_judged(
    plan: "Plan", paper: str, folders: "Results", workflow: Path
) -> "tuple[int, list[Finding]]":
    """How many published runs of the paper were restored, of those that lacked; its claims."""
    from fedbench.jobs.collect import collect
    from fedbench.jobs.export_and_restore import restore_missing
    from fedbench.report.claims.page import judged
    from fedbench.report.values import collected_frames

    results, planned = folders.root, plan.of_paper(paper)
    restored = restore_missing(plan, paper, results, PUBLISHED)
    finished = folders.finished(planned)
    runs = [run for run_id, run in planned.items() if run_id in finished]
    if not runs:
        raise FedbenchError(
            f"{results}: no run of {paper} at scale {plan.scale} is finished; `fedbench restore` "
            "brings the published ones back, in a copy of fedbench's repository"
        )
    frame = collected_frames.prepared(collect(runs, results))
    return restored, judged(plan, paper, frame, results, workflow / "papers")


def _print_finding(
    finding: "Finding", plan: "Plan", runs: list[str], seconds: dict[str, float], restored: int
) -> None:
    from fedbench.report.template_words import say
    from fedbench.report.values.numbers import axis_name, level_name

    printed, reason = say("claims.printed", finding), say("claims.reason", finding)
    print_line(f"On the printed numbers: {finding.printed_mark}{f' ({printed})' * bool(printed)}.")
    verdict = say("claims.label", finding)
    print_line(f"By the runs at scale {plan.scale}: {verdict}{f' ({reason})' * bool(reason)}.")
    if basis := say("claims.basis", finding):
        print_line(f"Tested by: {basis}.")
    if not runs:
        print_line("Behind it: no run of this scale.")
        return
    cells = [cell for cell in plan.cells if cell.run_id in {*runs}]
    told = []
    for axis in dict.fromkeys(axis for cell in cells for axis in cell.coords):
        levels = (level_name(axis, c.coords[axis]) for c in cells if axis in c.coords)
        told.append(f"{axis_name(axis)}: {', '.join(dict.fromkeys(levels))}")
    told.append(f"seeds: {', '.join(map(str, sorted({cell.seed for cell in cells})))}")
    print_line(
        f"Behind it: {len(seconds)} of {len(runs)} runs are finished"
        f"{f' ({restored} published runs of the paper were restored)' * bool(restored)}, "
        f"{sum(seconds.values()) / 60:.1f} minutes of one core, searches aside. {'; '.join(told)}."
    )


def _train_again(
    plan: "Plan", seconds: dict[str, float], folders: "Results", data_dir: Path | None
) -> None:
    from fedbench.engine.machine import Machine, one_thread_a_process
    from fedbench.jobs.verify import train_again

    histories = {run: folders.run(run).history() for run in seconds}
    last = {run: each.get("accuracy", -each["loss"]).iloc[-1] for run, each in histories.items()}
    # the quickest of the more accurate half: of what learned nothing last bits grow large
    ranked = sorted(seconds, key=lambda run: last[run], reverse=True)
    run = min(ranked[: (len(ranked) + 1) // 2], key=lambda run: seconds[run])
    print_line(f"Training {run} again, which took {seconds[run]:.0f} s there:")
    one_thread_a_process()
    again = train_again(plan.runs[run], folders.root, Machine("cpu", 1), data_dir)
    print_line(again.words())
    # elsewhere last bits differ, and grow where training is unstable: then the accuracy decides
    apart = max(again.accuracies, default=1.0) - min(again.accuracies, default=0.0)
    if not again.difference:
        print_line("It came out the same.")
    elif again.build and min(again.difference, apart) <= _TOLERANCE:
        print_line("It came out nearly the same, as it should on another machine.")
    else:
        print_line("It did not come out the same.")
        raise typer.Exit(1)
