"""What the published runs say; until there are any, a sentence that says so."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.generate.markdown import escaped, table
from fedbench.jobs.collect import collect
from fedbench.jobs.export_and_restore import exports_of, restore
from fedbench.paper.paper import InShort, load_papers
from fedbench.plan.plan import Plan, make_plan
from fedbench.report.claims.page import FILTERS, verdicts
from fedbench.report.template_words import say
from fedbench.store import Results, write_frame

ROOT = Path(__file__).parents[2]
SCALE = "cpu"  # at which runs are published
_WORKFLOW = ROOT / "workflow"
_VERDICTS = {tag: words for tag, words in FILTERS.items() if not tag.startswith("printed")}


def findings(root: Path = ROOT) -> str:
    """Verdicts, effects, reasons and hours of the papers that have a published file."""
    published = root / "results/published"
    names = tuple(key for key in load_papers(_WORKFLOW)[0] if exports_of(key, published))
    if not names:
        return "No results have been published yet."
    files = [file for key in names for file in exports_of(key, published)]
    plan = make_plan(_WORKFLOW, SCALE, names)
    with TemporaryDirectory() as folder:
        results = Path(folder)
        restore(files, results)
        _collect(plan, results)
        claims = verdicts(plan, results, _WORKFLOW / "papers")
        parts = [_overview(plan, claims, results)]
        parts += [part for key in plan.papers for part in _paper(plan, key, claims)]
    return "\n\n".join(parts)


def _collect(plan: Plan, results: Path) -> None:
    for key in plan.papers:
        runs = plan.of_paper(key)
        finished = Results(results).finished(runs)
        frame = collect([run for run_id, run in runs.items() if run_id in finished], results)
        write_frame(frame, Results(results).frame(SCALE, key))


def _overview(plan: Plan, claims: list[dict[str, Any]], results: Path) -> str:
    """How many claims of each paper have which verdict on its runs, and what the runs took."""
    rows = []
    for key in plan.papers:
        counted = [claim for claim in claims if claim["paper"] == key and claim["counts"]]
        stated = [claim for claim in counted if not claim["ours"]]
        tally = Counter(tag for claim in stated for tag in claim["tags"])
        needed = plan.needed(cell for cell in plan.cells if cell.paper == key)
        records = [record for run in needed if (record := Results(results).run(run).record())]
        hours = sum(sum(record["seconds"].values()) for record in records) / 3600
        counts = [str(tally[tag]) for tag in _VERDICTS]
        rows.append(
            [f"[{key}](#{key})", *counts, f"{len(records)} of {len(needed)}", f"{hours:.1f}"]
        )
    reading = {tag: "under our reading: " for tag in _VERDICTS if tag.startswith("reading")}
    words = [reading.get(tag, "") + words for tag, words in _VERDICTS.items()]
    return table(("paper", *words, "runs published", "core hours"), rows)


def _paper(plan: Plan, key: str, claims: list[dict[str, Any]]) -> Iterator[str]:
    """What its claims come to, the reasons for differences, and what was left out."""
    paper = plan.papers[key]
    yield f"## {escaped(paper.title)} {{ #{key} }}"
    match paper.in_short:
        case InShort(agrees=agrees, differs=differs, why=why):
            named = {"Agrees": agrees, "Otherwise here": differs, "Why": why}
            yield "\n".join(_point(name, text) for name, text in named.items() if text)
        case str(text) if text:
            yield _point("In short", text)
    if paper.findings:
        yield "\n".join(_point(says, text) for says, text in paper.findings.items())
    of_paper = [claim for claim in claims if claim["paper"] == key]
    for title, ours in (("claim", False), ("question of ours", True)):
        told = [x for x in of_paper if x["ours"] == ours and x["mark"] != "not-tested"]
        if told:
            rows = [
                [*map(escaped, (x["says"], _printed(x), x["measured"], x["reason"]))] for x in told
            ]
            yield table((title, "on the printed numbers", "on the runs here", "why"), rows)
    if open_ := sum(x["mark"] == "not-tested" and not x["ours"] for x in of_paper):
        yield f"{open_} more claims are not tested."
    if left_out := say("scale.left_out", plan.left_out[key]):
        yield f"Left out: {escaped(left_out)}."


def _printed(claim: dict[str, Any]) -> str:
    """The verdict on the printed numbers, and what it rests on."""
    verdict = {"none": "not printed"}.get(claim["printed_verdict"], claim["printed_verdict"])
    return ": ".join(filter(None, [verdict, claim["printed"]]))


def _point(name: str, text: str) -> str:
    return f"* **{escaped(name)}.** {escaped(' '.join(text.split()))}"
