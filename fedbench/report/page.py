"""The HTML pages: what the templates are given, and how they are filled."""

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
from fedbench.report.claims.view import ClaimView, counts
from fedbench.report.figures.drawing import Drawing
from fedbench.report.tables.entry import Entry
from fedbench.report.tables.layout import Layout
from fedbench.report.tables.ranks import RankView
from fedbench.report.tables.sheet import Sheet, shown
from fedbench.report.values import numbers
from fedbench.report.values.metrics import Metric


@dataclass(frozen=True)
class TableView:
    """A table with its cells arranged."""

    key: str
    table: Table
    layout: Layout
    caption: str
    ranks: RankView | None

    @property
    def scores(self) -> bool:
        """Whether all its metrics are scores, whose differences are points."""
        return all(Metric(name).is_score for name in self.table.metrics)

    @property
    def untested(self) -> bool:
        """Whether no cell is the paper's own experiment."""
        return all(entry.substituted for entry in self._entries)

    @property
    def marked(self) -> bool:
        """Whether any cell is the best of its kind."""
        return any(entry.best for entry in self._entries)

    @property
    def _entries(self) -> list[Entry]:
        return [e for g in self.layout.groups for row in g.rows for e in row.cells.values()]


@dataclass(frozen=True)
class FactView:
    """A table that no run is needed for."""

    key: str
    table: Facts
    sheet: Sheet


@dataclass(frozen=True)
class FigureView:
    """A figure and its SVG, ready to stand in a page."""

    drawing: Drawing
    svg: str

    @property
    def substituted(self) -> str:
        """How its runs differ from the paper's."""
        return self.drawing.substituted

    @property
    def inches(self) -> float:
        """The SVG's own width; those of more than five have a line of their own."""
        found = re.search(r'viewBox="0 0 ([\d.]+)', self.svg)
        return float(found[1]) / 72 if found else 0.0


@dataclass(frozen=True)
class RunCount:
    """The runs of a paper by what became of them; `missing` and `diverged` name them.

    `substitutes`: what the runs say stood in for a part of their data.
    """

    planned: int
    missing: tuple[str, ...]
    diverged: dict[str, str]
    substitutes: tuple[str, ...]


@dataclass(frozen=True)
class PaperView:
    """All that a paper's page shows; `runs` is the relative path to the run folders.

    `failed`: why a table or figure could not be made.
    """

    key: str
    paper: Paper
    tables: tuple[TableView, ...]
    facts: tuple[FactView, ...]
    figures: tuple[FigureView, ...]
    claims: tuple[ClaimView, ...]
    count: RunCount
    runs: str
    failed: dict[str, str] = field(default_factory=dict)
    unprinted: str = ""  # a sentence, where the paper's printed numbers are missing

    @property
    def items(self) -> list[TableView | FactView]:
        """Tables in the file's order, each fact before the first table of a higher number."""
        found: list[TableView | FactView] = list(self.tables)
        for fact in self.facts:
            later = [i for i, x in enumerate(found) if _number(x.table) > _number(fact.table)]
            found.insert(later[0] if later else len(found), fact)
        return found

    @property
    def ranks(self) -> list[RankView]:
        """Diagrams of the tables that have enough methods and settings."""
        return [table.ranks for table in self.tables if table.ranks]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims came to each verdict."""
        return counts(self.claims)

    @property
    def figure_groups(self) -> list[tuple[str, list[FigureView]]]:
        """Neighbouring figures with the same substitution."""
        pairs = groupby(self.figures, key=lambda view: view.substituted)
        return [(text, list(views)) for text, views in pairs]


def _number(table: Table | Facts) -> int:
    """The number in a title: 5 of 'Table 5'; 0 without one."""
    found = re.search(r"\d+", table.title)
    return int(found[0]) if found else 0


def paper_page(plan: Plan, view: PaperView) -> str:
    """A paper's page."""
    return _templates().get_template("paper.html.j2").render(plan=plan, view=view)


def index_page(plan: Plan, views: list[PaperView]) -> str:
    """The page that leads to the papers."""
    return _templates().get_template("index.html.j2").render(plan=plan, views=views)


def caption(table: Table) -> str:
    """The paper's YAML caption, or in its absence what the table's numbers are."""
    moment = {"final": "after the last round", "best": "at the best round"}
    at = moment.get(str(table.at), f"at round {table.at}")
    unit = {"percent": "percent", "fraction": "fractions"}[table.unit]
    scores = any(Metric(name).is_score for name in table.metrics)
    what = f"Mean ± sample standard deviation over the seeds, {at}"
    return table.caption or (f"{what}, in {unit}." if scores else f"{what}.")


def change(entry: Entry, table: Table) -> str:
    """The difference in points, or in the metric's own unit if it is no score."""
    metric = Metric(entry.place.metric)
    points = (entry.difference or 0.0) * metric.points(table)
    return numbers.signed(points, metric.point_digits(table))


def code(text: str) -> Markup:
    """Text of a YAML file, escaped; what stands in back-ticks becomes code."""
    parts = [escape(part) for part in text.split("`")]
    pairs = zip_longest(parts[::2], parts[1::2])
    return Markup("").join(
        plain + (Markup("<code>") + quoted + Markup("</code>") if quoted is not None else "")
        for plain, quoted in pairs
    )


@cache
def _templates() -> jinja2.Environment:
    """Templates that escape all they are given."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters |= {"fixed": numbers.fixed, "shown": shown, "code": code}
    found.globals |= {"change": change, "untested": numbers.UNTESTED}
    return found
