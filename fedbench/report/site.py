"""Writes the report of a plan: pages, tables, figures and claims."""

import os
import re
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from fedbench import store
from fedbench.base.errors import FedbenchError
from fedbench.base.files import write_text
from fedbench.plan.cost import Speeds, costs, measured_speeds
from fedbench.plan.plan import Plan
from fedbench.report.builder import Builder, Made, Task, make_all
from fedbench.report.claims.compared_sides import words
from fedbench.report.claims.page import FILTERS, plots
from fedbench.report.pages.method import method_pages
from fedbench.report.pages.paper import PaperPage
from fedbench.report.pages.runs import Record, making, searches, shards, side_by_side
from fedbench.report.pages.tables_and_figures import BASE, FRONT, TableOnPage
from fedbench.report.tables.export import ABSENT, POOLED, TUNED_NEAR_CHANCE, change
from fedbench.report.tables.facts import shown as shown_fact
from fedbench.report.template_words import FOLDER, environment, say
from fedbench.report.values import collected_frames
from fedbench.report.values.numbers import UNTESTED

PUBLISHED = "cpu"  # the scale of the runs that `findings` and `in_short` in papers' files are about
_TITLE, _HEAD = "· fedbench</title>".encode(), 2000  # what a page of fedbench begins with
_PAGES = {"*.html": _TITLE, "methods/*.html": _TITLE, "runs/?.js": b"showRuns("}


def build(
    plan: Plan, results: Path, out: Path, papers: Path, workers: int = 1, copies: bool = True
) -> list[Path]:
    """Write `out/<scale>/`, and return the files written; the same results give the same bytes.

    With `copies` figures are also files of their own (SVG, PNG and PDF), and so are tables (LaTeX
    and Markdown). A table or figure that cannot be made is left out: once all else is written,
    `FedbenchError` names it and says why.
    """
    folder = out / plan.scale
    builder = Builder(plan, results, folder, papers, copies)
    made = make_all(builder, workers)
    texts = _texts(builder, made)
    for name, text in texts.items():
        write_text(folder / name, text)
    # pages of an earlier report on other papers go: their links would lead to what is here
    for pattern, mark in _PAGES.items():
        for file in folder.glob(pattern):
            if str(file.relative_to(folder)) not in texts and mark in file.read_bytes()[:_HEAD]:
                file.unlink()
    failed = {f"{t.paper}/{t.key}": each.failure for t, each in made.items() if each.failure}
    if failed:
        named = "; ".join(f"{at}: {why}" for at, why in failed.items())
        raise FedbenchError(f"not shown are {named}; all else is in {folder}")
    return [*(folder / name for name in texts), *(x for each in made.values() for x in each.files)]


def _texts(builder: Builder, made: dict[Task, Made]) -> dict[str, str]:
    """Pages and data of runs, by their place in the folder of the report."""
    plan, paths, folder = builder.plan, builder.results, builder.folder
    found: dict[str, Record] = {}
    for run in plan.runs:
        with suppress(FedbenchError):  # a damaged record, which `collect` refuses
            found |= {run: record} if (record := paths.run(run).record()) else {}
    # pages are published: they do not say in which folder of this machine the data lay
    told_of = store.origins(paths, found.values())
    records = {run: told_of(record) for run, record in found.items()}
    speeds = Speeds(plan.cuts.speeds)
    if len(records) < len(plan.runs):
        with suppress(FedbenchError):  # as the finished runs trained; without them, as declared
            speeds = measured_speeds(paths.root, speeds.core)
    pages = [_page(builder, key, made, records, speeds) for key in plan.papers]
    methods = method_pages(plan, pages)
    hours = _hours(plan, plan.papers, records, speeds)
    links = {method.name: f"methods/{method.file}" for method in methods}
    shown = {"plan": plan, "methods": methods, "links": links}
    texts = {"index.html": _filled("index", pages=pages, hours=hours, **shown)}
    texts |= {f"{page.key}.html": _filled("paper", page=page, **shown) for page in pages}
    texts |= {f"methods/{x.file}": _filled("method", method=x, **shown) for x in methods}
    runs = quote(Path(os.path.relpath(paths.runs, folder)).as_posix())
    texts["run.html"] = _filled("run", plan=plan, runs=runs)
    collected = {key: of_paper.frame for key, of_paper in builder.collected.items()}
    return texts | {f"runs/{x}.js": text for x, text in shards(plan, collected, records).items()}


def _page(
    builder: Builder, key: str, made: dict[Task, Made], records: dict[str, Record], speeds: Speeds
) -> PaperPage:
    plan, collected = builder.plan, builder.collected[key]
    states, noted = collected.states, collected_frames.texts(collected.frame, "substitutes")
    mine = {task: each for task, each in made.items() if task.paper == key}

    def all_of(kind: str) -> tuple[Any, ...]:
        return tuple(x.item for task, x in mine.items() if task.kind == kind and not x.failure)

    paper = plan.papers[key]
    cells = {cell.run_id: cell for cell in plan.cells if cell.paper == key}
    lost = {run for run, record in records.items() if record.get("status") == "diverged"}
    return PaperPage(
        key=key,
        paper=paper,
        tables=all_of("table"),
        facts=all_of("fact"),
        figures=all_of("figure"),
        claims=next(iter(all_of("claims")), ()),
        planned=len(cells),
        missing={x: store.state(builder.results.run(x)).why for x in cells if x not in states},
        diverged={
            run: {"setting": words(cell.coords), "seed": cell.seed, "round": states[run].round}
            for run, cell in cells.items()
            if collected.diverged(run)
        },
        substitutes=tuple(sorted({*noted.values()})),
        hours=_hours(plan, (key,), records, speeds),
        making=making(records[run] for run in cells if run in records),
        searches=tuple(searches(plan, key, collected, lost)),
        curves=side_by_side(plan, key, collected.frame),
        failed={f"{key}/{task.key}": x.failure for task, x in mine.items() if x.failure},
        unprinted=builder.printed[key].absence if all_of("table") and paper.prints else "",
        copies=builder.copies,
    )


def _hours(
    plan: Plan, keys: Collection[str], records: dict[str, Record], speeds: Speeds
) -> tuple[float, float]:
    """Hours of one core or GPU, of papers' finished runs and of others; shared runs once."""
    ids = plan.needed(cell for cell in plan.cells if cell.paper in keys)
    spent = [sum(records[run].get("seconds", {}).values()) for run in ids if run in records]
    left = {run: plan.runs[run] for run in ids if run not in records}
    expected = [cost.core_seconds for cost in costs(left, speeds).values()]
    return sum(spent) / 3600, sum(expected) / 3600


def _filled(template: str, **shown_on_it: Any) -> str:
    """The HTML of a page, from the template of that name."""
    return _templates().get_template(f"{template}.html.j2").render(shown_on_it)


def code(text: str) -> Markup:
    """Text of a YAML file, escaped for HTML; text in back-ticks becomes code."""
    return Markup(re.sub("`([^`]*)(`|$)", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def labelled(svg: str, title: str) -> Markup:
    """An SVG of ours, with a title for readers who do not see it."""
    start, end = svg.split("<svg", 1)
    return Markup(f'{start}<svg role="img" aria-label="{escape(title)}"{end}')  # noqa: S704


@cache
def _templates() -> jinja2.Environment:
    made = environment(FOLDER, FOLDER.with_name("assets"), autoescape=True)
    made.policies["json.dumps_kwargs"] = {"sort_keys": False}  # methods keep their order
    made.filters |= {"shown": shown_fact, "code": code, "labelled": labelled}
    made.globals |= {"change": change, "filters": FILTERS, "say": say, "plots": plots}
    made.globals |= {"untested": UNTESTED, "pooled_title": POOLED, "absent_title": ABSENT}
    made.globals |= {"tuned_near_chance": TUNED_NEAR_CHANCE, "published": PUBLISHED}
    made.globals |= {"shown_rows": FRONT, "always_shown": BASE}
    made.tests["table"] = lambda item: isinstance(item, TableOnPage)
    return made
