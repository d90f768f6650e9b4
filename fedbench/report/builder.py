"""Builds the parts of a report: a table, a figure, a paper's claims.

They may be shared among processes; any number of them gives the same bytes.
"""

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from fedbench import store
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import write_text
from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed, printed_numbers
from fedbench.plan.workflow import DRAWN
from fedbench.report.claims.finding import Finding
from fedbench.report.claims.judge import findings
from fedbench.report.claims.page import tidy as tidy_claims
from fedbench.report.figures import save
from fedbench.report.figures.drawing import drawing
from fedbench.report.figures.layout import draw
from fedbench.report.figures.panels import Figure
from fedbench.report.figures.ranks import draw as draw_ranks
from fedbench.report.pages import items
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.export import TextTable, text_table, tidy, to_csv, to_latex, to_markdown
from fedbench.report.tables.facts import fact_table
from fedbench.report.tables.gather import table_cells
from fedbench.report.tables.layout import TableLayout, arrange
from fedbench.report.tables.ranks import ranks
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.words import say

Item = items.TableOnPage | items.FactOnPage | items.FigureOnPage | tuple[Finding, ...]


@dataclass(frozen=True)
class Task:
    """One part of a report: its paper, its kind (claims, figure, table or fact) and its key."""

    paper: str
    kind: str
    key: str


@dataclass(frozen=True)
class Made:
    """What came of a task: the item for the page and the files written, or why it failed."""

    item: Item | None = field(repr=False)
    files: tuple[Path, ...]
    failure: str = ""


def tasks(plan: Plan) -> list[Task]:
    """All parts of a report; those that take long come first."""
    found = [Task(name, "claims", "claims") for name in plan.papers]
    for kind in ("figure", "table", "fact"):
        for name, paper in plan.papers.items():
            found += [Task(name, kind, key) for key in getattr(paper, f"{kind}s")]
    return found


@dataclass(frozen=True)
class OfPaper:
    """What was collected for a paper and what it prints, read when first asked for."""

    plan: Plan
    key: str
    results: store.Results
    printed_in: Path

    @cached_property
    def collected(self) -> Collected:
        """The histories and the folders of its runs."""
        file = self.results.frame(self.plan.scale, self.key)
        return Collected(frames.read(file), self.results.runs)

    @cached_property
    def printed(self) -> Printed:
        """The numbers that it prints."""
        return printed_numbers(self.printed_in, self.key, self.plan.asked[self.key])


class Builder:
    """Makes parts from what one folder of results holds, and writes their files to another.

    With `copies` figures are written as SVG, PNG and PDF, and tables as LaTeX and Markdown, beside
    the pages and CSV files.
    """

    def __init__(
        self, plan: Plan, results: Path, folder: Path, papers: Path, copies: bool = True
    ) -> None:
        self.plan, self.folder, self.copies, paths = plan, folder, copies, store.Results(results)
        self.papers = {key: OfPaper(plan, key, paths, papers) for key in plan.papers}

    def make(self, task: Task) -> Made:
        """Make one part; whatever goes wrong, the others can be made."""
        part = _Part(self, task.paper, task.key)
        try:
            item = getattr(part, task.kind)()
        except Exception as error:  # whatever went wrong, the others are shown
            worded = isinstance(error, FedbenchError)
            if not worded:  # a fault of ours: the rule's log keeps where it happened
                traceback.print_exc()
            return Made(None, tuple(part.files), str(error) if worded else short(error))
        return Made(item, tuple(part.files))


class _Part:
    def __init__(self, builder: Builder, paper: str, key: str) -> None:
        self.builder, self.plan, self.at = builder, builder.plan, (paper, key)
        self.paper, self.of_paper = builder.plan.papers[paper], builder.papers[paper]
        self.files: list[Path] = []

    def table(self) -> items.TableOnPage:
        """A table of runs."""
        (paper, key), collected = self.at, self.of_paper.collected
        table = self.paper.tables[key]
        near_chance = collected.tuned_near_chance(self.plan, paper)
        printed, guess_of = self.of_paper.printed, collected.guess_of
        cells = table_cells(self.plan, self.at, collected.frame, printed, near_chance, guess_of)
        layout, caption = arrange(table, cells), say("tables.caption", table)
        rows = tidy(paper, cells, frames.data_notes(collected.frame))
        notes = " ".join(filter(None, dict.fromkeys((caption, *rows["data_note"]))))
        title = f"{table.title} ({paper}, scale {self.plan.scale}). {notes}"
        self._write_text(f"tables/{paper}/{key}.csv", to_csv(rows))
        self._write_copies(text_table(table, layout, title))
        diagrams = [self._ranks(table, *part) for part in _ranked(table, layout, cells)]
        alike = items.conditions(self.plan.runs[run.id] for cell in cells for run in cell.runs)
        return items.TableOnPage(key, table, layout, caption, tuple(filter(None, diagrams)), alike)

    def fact(self) -> items.FactOnPage:
        """A table that needs no run."""
        paper, key = self.at
        facts, content = self.paper.facts[key], fact_table(key, self.paper, self.of_paper.printed)
        title = " ".join(filter(None, [f"{facts.title} ({paper}).", facts.caption]))
        self._write_text(f"tables/{paper}/{key}.csv", to_csv(content.frame()))
        self._write_copies(content.texts(title))
        return items.FactOnPage(key, facts, content)

    def figure(self) -> items.FigureOnPage:
        """A figure."""
        paper, key = self.at
        drawn = drawing(self.plan, self.at, self.of_paper.collected)
        written, svg = self._draw(lambda: draw(drawn), key)
        if not drawn.lack:
            numbers = drawn.kind.numbers([x for x in drawn.panels if drawn.kind.has(x)])
            self._write_text(f"figures/{paper}/{key}.csv", to_csv(numbers))
        return items.FigureOnPage(
            key,
            self.paper.figures[key].title,
            drawn.title,
            drawn.caption,
            drawn.substituted,
            svg,
            save.readout(drawn, written.figure),
            drawn.lack,
            written.missing_letters,
        )

    def claims(self) -> tuple[Finding, ...]:
        """All claims of a paper."""
        paper, of_paper = self.at[0], self.of_paper
        judged = findings(self.plan, paper, of_paper.collected, of_paper.printed)
        if judged:
            self._write_text(f"claims/{paper}.csv", to_csv(tidy_claims(paper, judged)))
        return tuple(judged)

    def _ranks(
        self, table: Table, end: str, group: str, cells: list[TableCell]
    ) -> items.RanksOnPage | None:
        placed = ranks(table, cells)
        if placed is None:
            return None
        metric = Metric(placed.metric).label if len(table.metrics) > 1 else ""
        key = f"ranks_{self.at[1]}{end}"
        title = say("tables.rank_title", table.title, group, metric, placed)
        if placed.test and not placed.tells:
            return items.RanksOnPage(key, title, placed, "")
        written, svg = self._draw(lambda: draw_ranks(placed, title), key)
        numbers = placed.mean.rename("mean_rank").rename_axis("method").reset_index()
        self._write_text(f"figures/{self.at[0]}/{key}.csv", to_csv(numbers))
        return items.RanksOnPage(key, title, placed, svg, written.missing_letters)

    def _draw(self, figure: Callable[[], Figure], key: str) -> tuple[save.Written, str]:
        """A figure, written to files if there are copies, and its SVG for the page."""
        copies = self.builder.copies
        with TemporaryDirectory() as apart:
            folder = self.builder.folder / "figures" / self.at[0] if copies else Path(apart)
            endings = DRAWN if copies else ("svg",)
            written = save.write(figure, *(folder / f"{key}.{ending}" for ending in endings))
            self.files += written.files if copies else ()
            return written, save.inline(written.files[0].read_text(encoding="utf-8"), key)

    def _write_copies(self, table: TextTable) -> None:
        paper, key = self.at
        if self.builder.copies:
            self._write_text(f"tables/{paper}/{key}.tex", to_latex(table, f"{paper}-{key}"))
            self._write_text(f"tables/{paper}/{key}.md", to_markdown(table))

    def _write_text(self, name: str, text: str) -> None:
        write_text(self.builder.folder / name, text)
        self.files.append(self.builder.folder / name)


def _ranked(
    table: Table, layout: TableLayout, cells: list[TableCell]
) -> Iterator[tuple[str, str, list[TableCell]]]:
    """What has a diagram of mean ranks: the end of its file's name, a group's title, the cells.

    All cells have; where seeds are ranked one by one, each group of rows has too. Where a single
    group has runs, all that is ranked is of this group.
    """
    alone = table.ranks == "seeds" and len(layout.groups) == 1
    yield "", layout.groups[0].title if alone else "", cells
    if table.ranks == "seeds" and len(layout.groups) > 1:
        for number, group in enumerate(layout.groups, start=1):
            yield f"_{number}", group.title, [e for row in group.rows for e in row.cells.values()]


_builder: Builder  # of a process of the pool


def make_all(builder: Builder, todo: list[Task], workers: int) -> dict[Task, Made]:
    """Make every part, in this process or in so many others.

    Raises `FedbenchError` if the system ends one of them.
    """
    if workers == 1:
        return {task: builder.make(task) for task in todo}
    # Tables of facts may load torch, which takes seconds: one process does all of them.
    mine = [task for task in todo if task.kind == "fact"]
    others = [task for task in todo if task.kind != "fact"]
    try:
        with ProcessPoolExecutor(workers, initializer=_open, initargs=(builder,)) as pool:
            promised = {task: pool.submit(_make, task) for task in others}
            made = {task: builder.make(task) for task in mine}
            made |= {task: promise.result() for task, promise in promised.items()}
    except BrokenProcessPool:
        raise FedbenchError(
            f"one of {workers} processes that write the report was ended by the system, perhaps "
            "for want of memory; start it again with fewer workers"
        ) from None
    return {task: made[task] for task in todo}


def _open(builder: Builder) -> None:
    global _builder
    _builder = builder


def _make(task: Task) -> Made:
    return _builder.make(task)
