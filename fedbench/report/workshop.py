"""Makes the parts of a report one by one: a table, a figure, a paper's claims."""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from fedbench import store
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import write_text
from fedbench.paper.items import Table
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed, printed_numbers
from fedbench.report.claims import Finding, findings
from fedbench.report.claims.page import tidy as tidy_claims
from fedbench.report.figures import ranks as rank_figure
from fedbench.report.figures import save
from fedbench.report.figures.drawing import drawing
from fedbench.report.pages.conditions import conditions
from fedbench.report.pages.items import FactOnPage, FigureOnPage, TableOnPage
from fedbench.report.pages.ranking import RanksOnPage, rank_title
from fedbench.report.pages.templates import caption
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.fact import fact_table
from fedbench.report.tables.gather import table_cells
from fedbench.report.tables.latex import to_latex
from fedbench.report.tables.layout import TableLayout, arrange
from fedbench.report.tables.markdown import facts_to_markdown, to_markdown
from fedbench.report.tables.ranks import ranks
from fedbench.report.tables.tidy import tidy
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.values.searched import chosen_near_chance
from fedbench.report.values.spreadsheet import to_csv

Item = TableOnPage | FactOnPage | FigureOnPage | tuple[Finding, ...]


@dataclass(frozen=True)
class Task:
    """One part of a report: its paper, its kind (claims, figure, table or fact) and its key."""

    paper: str
    kind: str
    key: str

    @property
    def at(self) -> tuple[str, str]:
        """The keys of paper and part."""
        return self.paper, self.key


@dataclass(frozen=True)
class Made:
    """What came of a task: the item for the page and the files written, or why it failed."""

    item: Item | None = field(repr=False)
    files: tuple[Path, ...]
    failure: str = ""


def tasks(plan: Plan) -> list[Task]:
    """All parts of a report; those that take long come first."""
    kinds = {"claims": "claims", "figure": "figures", "table": "tables", "fact": "facts"}
    keys = {
        (paper, kind): ["claims"] if kind == "claims" else list(getattr(plan.papers[paper], field))
        for kind, field in kinds.items()
        for paper in plan.papers
    }
    return [Task(paper, kind, key) for (paper, kind), names in keys.items() for key in names]


class Workshop:
    """Makes parts from what one folder of results holds, and writes their files to another."""

    def __init__(self, plan: Plan, results: Path, folder: Path, papers: Path) -> None:
        self.plan, self.folder, self.papers = plan, folder, papers
        self._paths = store.Results(results)
        self._papers: dict[str, _OfPaper] = {}

    def make(self, task: Task) -> Made:
        """Make one part; whatever goes wrong, the others can be made."""
        bench = _Bench(self.plan, self.folder, self.of(task.paper))
        try:
            item = getattr(bench, task.kind)(task.at)
        except Exception as error:  # whatever went wrong, the others are shown
            worded = isinstance(error, FedbenchError)
            if not worded:  # a fault of ours: the rule's log keeps where it happened
                traceback.print_exc()
            return Made(None, tuple(bench.files), str(error) if worded else short(error))
        return Made(item, tuple(bench.files))

    def of(self, paper: str) -> "_OfPaper":
        """What was collected for a paper and what it prints, read once."""
        if paper not in self._papers:
            self._papers[paper] = _OfPaper(
                self._paths.frame(self.plan.scale, paper),
                self._paths.runs,
                partial(printed_numbers, self.papers, paper, self.plan.asked[paper]),
            )
        return self._papers[paper]


@dataclass(frozen=True)
class _OfPaper:
    """What was collected for a paper and what it prints, read when first asked for."""

    frame_file: Path
    runs: Path
    read_printed: Callable[[], Printed]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The histories of its runs."""
        return frames.read(self.frame_file)

    @cached_property
    def collected(self) -> Collected:
        """The histories and the folders of its runs."""
        return Collected(self.frame, self.runs)

    @cached_property
    def printed(self) -> Printed:
        """The numbers that it prints."""
        return self.read_printed()


@dataclass(frozen=True)
class _Bench:
    """Makes one part, and notes the files that it has written."""

    plan: Plan
    folder: Path
    of_paper: _OfPaper
    files: list[Path] = field(default_factory=list)

    def table(self, at: tuple[str, str]) -> TableOnPage:
        """A table of runs."""
        table = self.plan.papers[at[0]].tables[at[1]]
        collected = self.of_paper.collected
        blind = chosen_near_chance(
            self.plan, at[0], collected.winner, collected.states, collected.guess_of
        )
        cells = table_cells(
            self.plan, at, self.of_paper.frame, self.of_paper.printed, blind, collected.guess_of
        )
        layout, words = arrange(table, cells), caption(table)
        stem = f"tables/{at[0]}/{at[1]}"
        rows = tidy(at[0], cells, frames.data_notes(self.of_paper.frame))
        self._text(f"{stem}.csv", to_csv(rows))
        notes = filter(None, dict.fromkeys(rows["data_note"]))
        label = f"{table.title} ({at[0]}, scale {self.plan.scale}). {' '.join([words, *notes])}"
        self._text(f"{stem}.tex", to_latex("-".join(at), table, layout, label))
        self._text(f"{stem}.md", to_markdown(table, layout, label))
        diagrams = [self._ranks(at, table, *part) for part in _ranked(table, layout, cells)]
        alike = conditions(self.plan.runs[run.id] for cell in cells for run in cell.runs)
        return TableOnPage(at[1], table, layout, words, tuple(filter(None, diagrams)), alike)

    def fact(self, at: tuple[str, str]) -> FactOnPage:
        """A table that needs no run."""
        paper = self.plan.papers[at[0]]
        facts, content = paper.facts[at[1]], fact_table(at[1], paper, self.of_paper.printed)
        stem = f"tables/{at[0]}/{at[1]}"
        self._text(f"{stem}.csv", content.to_csv())
        words = " ".join(filter(None, [f"{facts.title} ({at[0]}).", facts.caption]))
        self._text(f"{stem}.tex", content.to_latex("-".join(at), words))
        self._text(f"{stem}.md", facts_to_markdown(content, words))
        return FactOnPage(at[1], facts, content)

    def figure(self, at: tuple[str, str]) -> FigureOnPage:
        """A figure."""
        drawn = drawing(self.plan, at, self.of_paper.collected)
        written, told = save.save(drawn, self.folder / "figures" / at[0])
        self.files.extend(written.files)
        svg = save.inline(written.files[0].read_text(encoding="utf-8"), at[1])
        numbers = drawn.kind.numbers([panel for panel in drawn.panels if drawn.kind.has(panel)])
        if not numbers.empty:
            self._text(f"figures/{at[0]}/{at[1]}.csv", to_csv(numbers))
        name = self.plan.papers[at[0]].figures[at[1]].title
        words = (name, drawn.title, drawn.caption, drawn.substituted)
        told_too = (drawn.lack, not numbers.empty, written.missing_letters)
        return FigureOnPage(at[1], *words, svg, told, *told_too)

    def claims(self, at: tuple[str, str]) -> tuple[Finding, ...]:
        """All claims of a paper."""
        judged = findings(self.plan, at[0], self.of_paper.collected, self.of_paper.printed)
        if judged:
            self._text(f"claims/{at[0]}.csv", to_csv(tidy_claims(at[0], judged)))
        return tuple(judged)

    def _ranks(
        self, at: tuple[str, str], table: Table, end: str, group: str, cells: list[TableCell]
    ) -> RanksOnPage | None:
        placed = ranks(table, cells)
        if placed is None:
            return None
        key, title = f"ranks_{at[1]}{end}", rank_title(table, placed, group)
        if placed.test and not placed.tells:
            return RanksOnPage(key, title, placed, "")
        written = rank_figure.save(placed, title, self.folder / "figures" / at[0] / key)
        self.files.extend(written.files)
        svg = save.inline(written.files[0].read_text(encoding="utf-8"), key)
        return RanksOnPage(key, title, placed, svg, written.missing_letters)

    def _text(self, name: str, text: str) -> None:
        write_text(self.folder / name, text)
        self.files.append(self.folder / name)


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
