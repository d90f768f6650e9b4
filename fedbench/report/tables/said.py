"""What a table and its cells say, before it is written as LaTeX or Markdown."""

from dataclasses import dataclass

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.layout import Block, TableLayout
from fedbench.report.tables.rows import Row
from fedbench.report.values.numbers import fixed, signed

POOLED = (
    "Standard deviation over seeds, pooled over the cells without a diverged run "
    "(degrees of freedom)"
)

BLIND = "chosen near chance"

ABSENT = "Not listed, because no run is finished"


@dataclass(frozen=True)
class Said:
    """A number or a word; a deviation, if any; whether it is the best; remarks to stand behind."""

    value: str
    deviation: str = ""
    best: bool = False
    flags: tuple[str, ...] = ()


def pooled(layout: TableLayout) -> str:
    """The deviations over seeds that several cells have together, in one sentence, or nothing."""
    return f"{POOLED}: {'; '.join(layout.pooled)}." if layout.pooled else ""


def absent(layout: TableLayout) -> str:
    """The rows that are left out, in one sentence, or nothing."""
    return f"{ABSENT}: {'; '.join(layout.absent)}." if layout.absent else ""


def heads(row: Row) -> list[str]:
    """The headings of a row; those written in a row above are empty."""
    texts = [text if span else "" for text, span in row.heads]
    return texts[:-1] + [f"{text} (control)" if row.control else text for text in texts[-1:]]


def said(block: Block, cell: TableCell | None, layout: TableLayout, table: Table) -> Said:
    """What the cell says in a block of columns."""
    if cell is None:
        return Said("")
    if block.kind == "difference":
        return Said(_difference(cell, table))
    stat = cell.printed if block.kind == "printed" else cell.measured
    if stat is None:
        return Said("missing" if block.kind != "printed" and cell.awaited else "")
    mean = fixed(stat.mean, table.digits)
    deviation = "" if stat.std is None else fixed(stat.std, table.digits)
    if block.kind == "printed":
        return Said(mean, deviation)
    return Said(mean, deviation, cell.best, tuple(_flags(cell, layout)))


def _difference(cell: TableCell, table: Table) -> str:
    metric = Metric(cell.place.metric)
    if cell.difference is None:
        return ""
    return signed(cell.difference * metric.points(table), metric.point_digits(table))


def _flags(cell: TableCell, layout: TableLayout) -> list[str]:
    """What a reader must know beside the number: the mark of a note, seeds missing or diverged.

    And that settings were chosen by trials that had learned next to nothing.
    """
    flags = [f"({layout.notes[cell.substituted]})"] if cell.substituted in layout.notes else []
    flags += [f"{len(cell.measured_runs)}/{len(cell.runs)} seeds"] if cell.missing else []
    flags += [BLIND] if cell.blind else []
    return flags + ([f"{cell.diverged} diverged"] if cell.diverged else [])
