"""Builds the parts of a report: a table, a figure, a paper's claims."""

import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import write_text
from fedbench.base.plugins import find_file
from fedbench.paper.metrics import Metric
from fedbench.paper.printed_numbers import Printed, printed_numbers
from fedbench.plan.plan import Plan
from fedbench.plan.workflow_paths import DRAWN
from fedbench.report.claims.finding import Finding
from fedbench.report.claims.judge import findings
from fedbench.report.claims.page import tidy as tidy_claims
from fedbench.report.figures import ranks as ranks_figure
from fedbench.report.figures import save
from fedbench.report.figures.drawing import drawing
from fedbench.report.figures.layout import draw
from fedbench.report.figures.panels import Figure
from fedbench.report.pages import tables_and_figures as shown
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.export import TextTable, text_table, tidy, to_csv, to_latex, to_markdown
from fedbench.report.tables.facts import fact_table
from fedbench.report.tables.gather_cells import table_cells
from fedbench.report.tables.layout import arrange
from fedbench.report.tables.ranks import ranks
from fedbench.report.template_words import say
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected
from fedbench.store import Results


class Task(NamedTuple):
    """One part of a report: its paper, its kind (claims, figure, table or fact) and its key."""

    paper: str
    kind: str
    key: str


class Made(NamedTuple):
    """What came of a task: the item for the page and the files written, or why it failed."""

    item: shown.TableOnPage | shown.FactOnPage | shown.FigureOnPage | tuple[Finding, ...] | None
    files: tuple[Path, ...]
    failure: str = ""


class Builder:
    """Makes parts from what one folder of results holds, and writes their files to another."""

    def __init__(self, plan: Plan, results: Path, folder: Path, papers: Path, copies: bool) -> None:
        self.plan, self.folder, self.copies, self.results = plan, folder, copies, Results(results)
        self.collected, self.printed = dict[str, Collected](), dict[str, Printed]()  # by paper
        for key in plan.papers:
            frame = collected_frames.read(self.results.frame(plan.scale, key))
            self.collected[key] = Collected(frame, self.results.runs)
            file = find_file(papers, f"{key}.yaml")
            self.printed[key] = printed_numbers(file, plan.asked[key])
        self._files: list[Path] = []  # of the part that is made

    def make(self, task: Task) -> Made:
        """Make one part."""
        self._files = []
        try:
            item = getattr(self, f"_{task.kind}")(task.paper, task.key)
        except Exception as error:  # whatever went wrong, the others are shown
            worded = isinstance(error, FedbenchError)
            if not worded:  # a fault of ours: the rule's log keeps where it happened
                traceback.print_exc()
            return Made(None, tuple(self._files), str(error) if worded else short(error))
        return Made(item, tuple(self._files))

    def _table(self, paper: str, key: str) -> shown.TableOnPage:
        collected, printed = self.collected[paper], self.printed[paper]
        table, frame = self.plan.papers[paper].tables[key], collected.frame
        near_chance = collected.tuned_near_chance(self.plan, paper)
        at, guess_of = (paper, key), collected.guess_of
        cells = table_cells(self.plan, at, frame, printed, near_chance, guess_of)
        layout, caption = arrange(table, cells), say("tables.caption", table)
        rows = tidy(paper, cells, collected_frames.texts(frame, "substitutes"))
        notes = " ".join(filter(None, dict.fromkeys((caption, *rows["data_note"]))))
        title = f"{table.title} ({paper}, scale {self.plan.scale}). {notes}"
        self._write_table(paper, key, rows, text_table(table, layout, title))
        # all cells have mean ranks; where seeds are ranked one by one, each group of rows has too
        groups = layout.groups if table.ranks == "seeds" else ()
        diagrams = [self._ranks(at, "", groups[0].title if len(groups) == 1 else "", cells)]
        for number, group in enumerate(groups if len(groups) > 1 else (), start=1):
            diagrams.append(self._ranks(at, f"_{number}", group.title, group.cells))
        alike = shown.conditions(self.plan.runs[run.id] for cell in cells for run in cell.runs)
        return shown.TableOnPage(key, table, layout, caption, tuple(filter(None, diagrams)), alike)

    def _fact(self, paper: str, key: str) -> shown.FactOnPage:
        facts = self.plan.papers[paper].facts[key]
        content = fact_table(key, self.plan.papers[paper], self.printed[paper])
        title = " ".join(filter(None, [f"{facts.title} ({paper}).", facts.caption]))
        self._write_table(paper, key, content.frame(), content.texts(title))
        return shown.FactOnPage(key, facts, content)

    def _figure(self, paper: str, key: str) -> shown.FigureOnPage:
        drawn = drawing(self.plan, (paper, key), self.collected[paper])
        figure, lost, svg = self._draw(lambda: draw(drawn), paper, key)
        if not drawn.lack:
            numbers = drawn.kind.numbers([x for x in drawn.panels if drawn.kind.has(x)])
            self._write_text(f"figures/{paper}/{key}.csv", to_csv(numbers))
        width, height = map(float, figure.get_size_inches())
        told = (drawn.title, drawn.caption, drawn.substituted, svg, (width, height))
        readout = save.readout(drawn, figure)
        return shown.FigureOnPage(key, *told, readout, drawn.lack, lost)

    def _claims(self, paper: str, _: str) -> tuple[Finding, ...]:
        judged = findings(self.plan, paper, self.collected[paper], self.printed[paper])
        if judged:
            self._write_text(f"claims/{paper}.csv", to_csv(tidy_claims(paper, judged)))
        return tuple(judged)

    def _ranks(
        self, at: tuple[str, str], end: str, group: str, cells: list[TableCell]
    ) -> shown.RanksOnPage | None:
        """A diagram of mean ranks; `end` is that of its file's name, `group` a title."""
        table = self.plan.papers[at[0]].tables[at[1]]
        placed = ranks(table, cells)
        if placed is None:
            return None
        metric = Metric(table.metrics[0]).label if len(table.metrics) > 1 else ""
        key = f"ranks_{at[1]}{end}"
        title = say("tables.rank_title", table.title, group, metric, placed)
        if placed.test and not placed.tells:
            return shown.RanksOnPage(key, title, placed, "")
        _, lost, svg = self._draw(lambda: ranks_figure.draw(placed, title), at[0], key)
        numbers = placed.mean.rename("mean_rank").rename_axis("method").reset_index()
        self._write_text(f"figures/{at[0]}/{key}.csv", to_csv(numbers))
        return shown.RanksOnPage(key, title, placed, svg, lost)

    def _draw(self, draw: Callable[[], Figure], paper: str, key: str) -> tuple[Figure, str, str]:
        with TemporaryDirectory() as apart:
            folder = self.folder / "figures" / paper if self.copies else Path(apart)
            files = [folder / f"{key}.{ending}" for ending in (DRAWN if self.copies else ["svg"])]
            self._forget(f"figures/{paper}/{key}", DRAWN)
            figure, lost = save.write(draw, *files)
            self._files += files if self.copies else ()
            return figure, lost, save.inline(files[0].read_text(encoding="utf-8"), key)

    def _write_table(self, paper: str, key: str, rows: pd.DataFrame, table: TextTable) -> None:
        self._forget(f"tables/{paper}/{key}", ("tex", "md"))
        self._write_text(f"tables/{paper}/{key}.csv", to_csv(rows))
        if self.copies:
            self._write_text(f"tables/{paper}/{key}.tex", to_latex(table, f"{paper}-{key}"))
            self._write_text(f"tables/{paper}/{key}.md", to_markdown(table))

    def _forget(self, name: str, endings: tuple[str, ...]) -> None:
        """Delete copies that an earlier report wrote: those of this one may not be wanted."""
        for ending in endings:
            (self.folder / f"{name}.{ending}").unlink(missing_ok=True)

    def _write_text(self, name: str, text: str) -> None:
        write_text(self.folder / name, text)
        self._files.append(self.folder / name)


_builder: Builder  # of a process of the pool


def make_all(builder: Builder, workers: int) -> dict[Task, Made]:
    """Make all parts of a report, in this process or in so many others; slow ones come first."""
    papers = builder.plan.papers
    todo = [Task(name, "claims", "claims") for name in papers]
    for kind in ("figure", "table", "fact"):
        for name, paper in papers.items():
            todo += [Task(name, kind, key) for key in getattr(paper, f"{kind}s")]
    if workers == 1:
        return {task: builder.make(task) for task in todo}
    try:
        with ProcessPoolExecutor(workers, initializer=_open, initargs=(builder,)) as pool:
            promised = {task: pool.submit(_make, task) for task in todo if task.kind != "fact"}
            # facts, which are last, may load torch, which takes seconds: one process does them all
            facts = {task: builder.make(task) for task in todo if task.kind == "fact"}
            return {task: promise.result() for task, promise in promised.items()} | facts
    except BrokenProcessPool:
        why = "was ended by the system, perhaps for want of memory; start it with fewer workers"
        raise FedbenchError(f"one of {workers} processes that write the report {why}") from None


def _open(builder: Builder) -> None:
    global _builder
    _builder = builder


def _make(task: Task) -> Made:
    return _builder.make(task)
