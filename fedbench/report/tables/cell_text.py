"""What a table and its cells say as texts, before they are written as LaTeX or Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.layout import Block, Row, TableLayout
from fedbench.report.values.numbers import UNTESTED, fixed, signed
from fedbench.report.words import say

POOLED = (
    "Standard deviation over seeds, pooled over the cells without a diverged run "
    "(degrees of freedom)"
)
TUNED_NEAR_CHANCE = "chosen near chance"
ABSENT = "Not listed, because no run is finished"


@dataclass(frozen=True)
class CellText:
    """A number or a word; a deviation, if any; whether it is bold; remarks to stand behind."""

    value: str
    deviation: str = ""
    bold: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    `columns` are (group, title), of which the first `left` hold the headings of rows; neighbours of
    one group stand under its name. `remarks` are sentences that belong to the caption.
    """

    columns: Sequence[tuple[str, str]]
    left: int
    rows: Sequence[Sequence[CellText]]
    caption: str
    remarks: Sequence[str] = ()


def title_row(title: str, width: int) -> list[CellText]:
    """The row that names the group of rows below it."""
    return [CellText(title, bold=True), *[CellText("")] * (width - 1)]


def text_table(table: Table, layout: TableLayout, caption: str) -> TextTable:
    """A table of runs as texts; what cells share and what was substituted are its remarks."""
    pairs = [(block, column) for block in layout.blocks for column in block.columns]
    columns = [("", head) for head in layout.heads]
    columns += [(block.title, column.label or "all") for block, column in pairs]
    rows: list[list[CellText]] = []
    for group in layout.groups:
        rows += [title_row(group.title, len(columns))] if group.title else []
        for row in group.rows:
            cells = [(block, row.cells.get(column.point)) for block, column in pairs]
            rows.append([*_heads(row), *(cell_text(block, x, layout, table) for block, x in cells)])
    return TextTable(columns, len(layout.heads), rows, caption, _remarks(layout))


def _heads(row: Row) -> list[CellText]:
    """The headings of a row; those written in a row above are empty."""
    texts = [text if span else "" for text, span in row.heads]
    last = [f"{text} (control)" if row.control else text for text in texts[-1:]]
    return [CellText(text) for text in (*texts[:-1], *last)]


def _remarks(layout: TableLayout) -> list[str]:
    """What cells have together and what was substituted, each remark once."""
    remarks = [f"{ABSENT}: {'; '.join(layout.absent)}."] if layout.absent else []
    remarks += [f"{POOLED}: {'; '.join(layout.pooled)}."] if layout.pooled else []
    notes = [(name, say("scale.substitutions", found)) for name, found in layout.notes]
    return [*remarks, *(f"{name}: {UNTESTED} ({words})." for name, words in notes)]


def cell_text(block: Block, cell: TableCell | None, layout: TableLayout, table: Table) -> CellText:
    """What the cell says in a block of columns."""
    if cell is None:
        return CellText("")
    if block.kind == "difference":
        return CellText("" if cell.difference is None else change(cell, table))
    stat = cell.printed if block.kind == "printed" else cell.measured
    if stat is None:
        return CellText("missing" if block.kind != "printed" and cell.awaited else "")
    mean = fixed(stat.mean, table.digits)
    deviation = "" if stat.std is None else fixed(stat.std, table.digits)
    if block.kind == "printed":
        return CellText(mean, deviation)
    return CellText(mean, deviation, cell.best, tuple(_flags(cell, layout)))


def change(cell: TableCell, table: Table) -> str:
    """The difference in percentage points, or in the metric's unit if it is no score."""
    metric = Metric(cell.place.metric)
    points = (cell.difference or 0.0) * metric.points(table)
    return signed(points, metric.point_digits(table))


def _flags(cell: TableCell, layout: TableLayout) -> list[str]:
    """What a reader must know beside the number: the mark of a note, seeds missing or diverged.

    And that settings were chosen by trials that had learned next to nothing.
    """
    flags = [f"({layout.marks[cell.substituted]})"] if cell.substituted in layout.marks else []
    flags += [f"{len(cell.measured_runs)}/{len(cell.runs)} seeds"] if cell.missing else []
    flags += [TUNED_NEAR_CHANCE] if cell.tuned_near_chance else []
    return flags + ([f"{cell.diverged} diverged"] if cell.diverged else [])
