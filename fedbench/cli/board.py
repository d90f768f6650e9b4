"""A table of a report in the terminal."""

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed
from fedbench.report.tables.cells import TableCell, table_cells
from fedbench.report.tables.layout import TableLayout, arrange
from fedbench.report.tables.rows import Row
from fedbench.report.values import frames
from fedbench.report.values.numbers import fixed
from fedbench.store import Results


def board(plan: Plan, at: tuple[str, str], results: Path) -> Table:
    """The measured numbers of the table at the keys `at` (paper, table), a section per group."""
    table = plan.papers[at[0]].tables[at[1]]
    file = Results(results).frame(plan.scale, at[0])
    layout = arrange(table, table_cells(plan, at, frames.read(file), Printed(file, {})))
    shown = Table(*layout.heads, *_labels(layout), title=table.title)
    for group in layout.groups:
        if group.title:
            shown.add_row(group.title, style="bold")
        for row in group.rows:
            shown.add_row(*_texts(row, layout, table.digits))
        shown.add_section()
    return shown


def _labels(layout: TableLayout) -> Iterator[str]:
    for block in layout.blocks:
        yield from (column.label for column in block.columns)


def _texts(row: Row, layout: TableLayout, digits: int) -> Iterator[str]:
    yield from (head for head, _ in row.heads)
    for block in layout.blocks:
        yield from (_number(row.cells.get(column.point), digits) for column in block.columns)


def _number(cell: TableCell | None, digits: int) -> str:
    if cell is None or cell.measured is None:
        return "–"
    mean, std = cell.measured.mean, cell.measured.std
    return fixed(mean, digits) + (f" ± {fixed(std, digits)}" if std is not None else "")
