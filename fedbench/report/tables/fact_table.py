"""A table of facts: rows and columns of plain values, as CSV and as LaTeX."""

import csv
import io
from dataclasses import dataclass
from itertools import groupby

from fedbench.report.tables.latex import escape
from fedbench.report.values.spreadsheet import plain

Value = str | int | float | bool | None


@dataclass(frozen=True)
class FactColumn:
    """A column; neighbouring columns of the same `group` stand under its name."""

    title: str
    group: str = ""


@dataclass(frozen=True)
class FactRow:
    """A row; neighbouring rows of the same `group` stand under its name."""

    name: str
    values: tuple[Value, ...]
    group: str = ""


@dataclass(frozen=True)
class FactTable:
    """The whole table; `head` is the heading of the row names, `note` explains what is counted."""

    head: str
    columns: tuple[FactColumn, ...]
    rows: tuple[FactRow, ...]
    note: str = ""

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Groups of columns with their widths; empty where no group has a name."""
        sizes = [(name, len(list(run))) for name, run in groupby(c.group for c in self.columns)]
        return sizes if any(name for name, _ in sizes) else []

    @property
    def groups(self) -> list[tuple[str, list[FactRow]]]:
        """Rows under the names of their groups."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, key=lambda row: row.group)]

    def to_csv(self) -> str:
        """One line per row; a group's name stands in front of the names of its columns and rows."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        heads = [self.head, *(_joined(c.group, c.title) for c in self.columns)]
        lines.writerow([plain(head) for head in heads])
        for row in self.rows:
            cells = [_joined(row.group, row.name), *("" if v is None else v for v in row.values)]
            lines.writerow([plain(cell) for cell in cells])
        return text.getvalue()

    def to_latex(self, label: str, caption: str) -> str:
        """The table as a `table` environment; the document must use booktabs and amssymb."""
        width = 1 + len(self.columns)
        lines = [
            r"% needs \usepackage{booktabs,amssymb}",
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escape(' '.join(filter(None, [caption, self.note])))}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
            r"\toprule",
            *self._header(),
            *(line for name, rows in self.groups for line in _lines(name, rows, width)),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _header(self) -> list[str]:
        names = _line([self.head, *(column.title for column in self.columns)])
        if not self.blocks:
            return [names]
        cells = [rf"\multicolumn{{{size}}}{{c}}{{{escape(name)}}}" for name, size in self.blocks]
        return [" & ".join(["", *cells]) + r" \\", names]


def shown(value: Value) -> str:
    """A value as text: ticks and crosses, commas between thousands, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    return value if isinstance(value, str) else f"{value:,}"


def _joined(group: str, name: str) -> str:
    return ": ".join(filter(None, [group, name]))


def _lines(name: str, rows: list[FactRow], width: int) -> list[str]:
    title = rf"\multicolumn{{{width}}}{{l}}{{\textbf{{{escape(name)}}}}} \\"
    start = [r"\midrule", title] if name else [r"\midrule"]
    return start + [_line([row.name, *map(shown, row.values)]) for row in rows]


def _line(cells: list[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
