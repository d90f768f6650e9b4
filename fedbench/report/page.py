"""The HTML pages: what is shown on them, and the templates filled with it."""

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, zip_longest
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from fedbench.paper.items import Facts, Table
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Plan
from fedbench.report.claims.page import ClaimOnPage, counts
from fedbench.report.figures.drawing import Drawing
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.fact_table import FactTable, shown
from fedbench.report.tables.layout import TableLayout
from fedbench.report.tables.ranks import RanksOnPage
from fedbench.report.values import numbers
from fedbench.report.values.metrics import Metric


@dataclass(frozen=True)
class TableOnPage:
    """A table of runs, laid out."""

    key: str
    table: Table
    layout: TableLayout
    caption: str
    ranks: RanksOnPage | None

    @property
    def scores(self) -> bool:
        """Whether all its metrics are scores, whose differences are percentage points."""
        return all(Metric(name).is_score for name in self.table.metrics)

    @property
    def untested(self) -> bool:
        """Whether every cell comes from substitutes, not from the paper's experiment."""
        return all(cell.substituted for cell in self.cells)

    @property
    def marked(self) -> bool:
        """Whether any cell is marked as the best one."""
        return any(cell.best for cell in self.cells)

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [e for g in self.layout.groups for row in g.rows for e in row.cells.values()]


@dataclass(frozen=True)
class FactOnPage:
    """A table that needs no run."""

    key: str
    table: Facts
    content: FactTable


@dataclass(frozen=True)
class FigureOnPage:
    """A figure, drawn as an SVG for the page."""

    drawing: Drawing
    svg: str = field(repr=False)

    @property
    def substituted(self) -> str:
        """How its runs differ from the paper's."""
        return self.drawing.substituted

    @property
    def inches(self) -> float:
        """The width of the SVG; a figure wider than 5 inches has a whole row of the page."""
        box = re.search(r'viewBox="0 0 ([\d.]+)', self.svg)
        return float(box[1]) / 72 if box else 0.0


@dataclass(frozen=True)
class RunCount:
    """How many runs a paper has, and which of them are missing or diverged.

    `missing` says by id why, where the run failed; `diverged` says by id at which round;
    `substitutes` is what the runs themselves say was used in place of a part of their data.
    """

    planned: int
    missing: dict[str, str]
    diverged: dict[str, str]
    substitutes: tuple[str, ...]


@dataclass(frozen=True)
class PaperPage:
    """All that a paper's page shows.

    `runs` is the path from the page to the run folders; `failed` says why a table or figure could
    not be made.
    """

    key: str
    paper: Paper = field(repr=False)
    tables: tuple[TableOnPage, ...] = field(repr=False)
    facts: tuple[FactOnPage, ...] = field(repr=False)
    figures: tuple[FigureOnPage, ...] = field(repr=False)
    claims: tuple[ClaimOnPage, ...] = field(repr=False)
    count: RunCount = field(repr=False)
    runs: str
    failed: dict[str, str] = field(default_factory=dict)
    unprinted: str = ""  # a sentence, where the paper's printed numbers are missing

    @property
    def substituted(self) -> bool:
        """Whether any of its tables or figures notes what was used in place of the paper's."""
        cells = any(cell.substituted for table in self.tables for cell in table.cells)
        return cells or any(figure.substituted for figure in self.figures)

    @property
    def items(self) -> list[TableOnPage | FactOnPage]:
        """Tables in the file's order, each table of facts before the first with a higher number."""
        items: list[TableOnPage | FactOnPage] = list(self.tables)
        for fact in self.facts:
            later = [i for i, x in enumerate(items) if _number(x.table) > _number(fact.table)]
            items.insert(later[0] if later else len(items), fact)
        return items

    @property
    def ranks(self) -> list[RanksOnPage]:
        """Diagrams of mean ranks, of the tables that have enough methods and settings."""
        return [table.ranks for table in self.tables if table.ranks]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        return counts(self.claims)

    @property
    def figure_groups(self) -> list[tuple[str, list[FigureOnPage]]]:
        """Neighbouring figures whose runs differ from the paper's in the same way."""
        pairs = groupby(self.figures, key=lambda figure: figure.substituted)
        return [(text, list(figures)) for text, figures in pairs]


def _number(table: Table | Facts) -> int:
    """The number in a title: 5 of 'Table 5'; 0 without one."""
    digits = re.search(r"\d+", table.title)
    return int(digits[0]) if digits else 0


def paper_page(plan: Plan, page: PaperPage) -> str:
    """The HTML of a paper's page."""
    return _templates().get_template("paper.html.j2").render(plan=plan, page=page)


def index_page(plan: Plan, pages: list[PaperPage]) -> str:
    """The HTML of the page that leads to the papers' pages."""
    return _templates().get_template("index.html.j2").render(plan=plan, pages=pages)


def caption(table: Table) -> str:
    """The caption in the paper's file; without one, a sentence that says what the numbers are."""
    moment = {"final": "after the last round", "best": "at the best round"}
    at = moment.get(str(table.at), f"at round {table.at}")
    unit = {"percent": "percent", "fraction": "fractions"}[table.unit]
    scores = any(Metric(name).is_score for name in table.metrics)
    what = f"Mean ± sample standard deviation over the seeds, {at}"
    return table.caption or (f"{what}, in {unit}." if scores else f"{what}.")


def change(cell: TableCell, table: Table) -> str:
    """The difference in percentage points, or in the metric's unit if it is no score."""
    metric = Metric(cell.place.metric)
    points = (cell.difference or 0.0) * metric.points(table)
    return numbers.signed(points, metric.point_digits(table))


def code(text: str) -> Markup:
    """Text of a YAML file, escaped for HTML; text in back-ticks becomes code."""
    parts = [escape(part) for part in text.split("`")]
    pairs = zip_longest(parts[::2], parts[1::2])
    return Markup("").join(
        plain + (Markup("<code>") + quoted + Markup("</code>") if quoted is not None else "")
        for plain, quoted in pairs
    )


@cache
def _templates() -> jinja2.Environment:
    """The templates, which escape every text they show."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"fixed": numbers.fixed, "shown": shown, "code": code}
    made.globals |= {"change": change, "untested": numbers.UNTESTED}
    return made
