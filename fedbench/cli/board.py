"""A table of a report in the terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.gather import table_cells
from fedbench.report.tables.layout import Row, TableLayout, arrange
from fedbench.report.values import frames
from fedbench.report.values.numbers import fixed
from fedbench.store import Results


@dataclass(frozen=True)
class _Column:
    """A column of the table: its heading, and its texts by group of rows."""

    heading: str
    texts: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> int:
        """Letters that it needs with its frame; only the heading is broken, between words."""
        words = [*self.heading.split(), *(text for group in self.texts for text in group)]
        return max(map(len, words), default=0) + 3


def boards(plan: Plan, at: tuple[str, str], results: Path, width: int) -> Iterator[Table]:
    """The measured numbers of the table at the keys `at` (paper, table), a section per group.

    There are as many tables one below the other as it takes to show all columns in lines of `width`
    letters.
    """
    table = plan.papers[at[0]].tables[at[1]]
    file = Results(results).frame(plan.scale, at[0])
    layout = arrange(table, table_cells(plan, at, frames.read(file), Printed(file, {})))
    groups = [[[*_texts(row, layout, table.digits)] for row in g.rows] for g in layout.groups]
    headings = [*layout.heads, *_labels(layout)]
    columns = [
        _Column(heading, tuple(tuple(row[i] for row in group) for group in groups))
        for i, heading in enumerate(headings)
    ]
    left, rest = columns[: len(layout.heads)], columns[len(layout.heads) :]
    for part in _that_fit(rest, width - 1 - sum(column.width for column in left)):
        yield _board(table.title, [g.title for g in layout.groups], [*left, *part])


def _that_fit(columns: list[_Column], width: int) -> Iterator[list[_Column]]:
    part: list[_Column] = []
    for column in columns:
        if part and sum(each.width for each in part) + column.width > width:
            yield part
            part = []
        part.append(column)
    yield part


def _board(title: str, groups: list[str], columns: list[_Column]) -> Table:
    shown = Table(title=title)
    for column in columns:
        longest = max((len(text) for group in column.texts for text in group), default=0)
        shown.add_column(column.heading, min_width=longest)
    for number, group in enumerate(groups):
        if group:
            shown.add_row(group, style="bold")
        for row in zip(*(column.texts[number] for column in columns), strict=True):
            shown.add_row(*row)
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
