"""Tables as Markdown, for pages of a repository and for notes."""

import re
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from fedbench.paper.items import Table
from fedbench.report.tables.fact_table import FactTable, shown
from fedbench.report.tables.layout import Block, Column, TableLayout
from fedbench.report.tables.rows import Group
from fedbench.report.tables.said import Said, absent, heads, pooled, said
from fedbench.report.words import say


def to_markdown(table: Table, layout: TableLayout, caption: str) -> str:
    """A table of runs, with its caption and what was substituted below it."""
    pairs = [(block, column) for block in layout.blocks for column in block.columns]
    names = [*layout.heads, *(_name(block, column) for block, column in pairs)]
    rows = [line for group in layout.groups for line in _group(group, pairs, layout, table)]
    swaps = {f"{name}:": found for name, found in layout.named}
    swaps |= {f"({mark})": layout.note(found) for found, mark in layout.notes.items()}
    remarks = [f"{head} {say('scale.substitutions', found)}" for head, found in swaps.items()]
    return _written(
        names, rows, len(layout.heads), [caption, absent(layout), pooled(layout), *remarks]
    )


def facts_to_markdown(table: FactTable, caption: str) -> str:
    """A table that needs no run, with its caption below it."""
    names = [table.head, *(": ".join(filter(None, (c.group, c.title))) for c in table.columns)]
    rows = [
        [
            escape(": ".join(filter(None, (row.group, row.name)))),
            *map(escape, map(shown, row.values)),
        ]
        for row in table.rows
    ]
    return _written(names, rows, 1, [caption, table.note])


def escape(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", text)


def _name(block: Block, column: Column) -> str:
    return ": ".join(filter(None, (block.title, column.label)))


def _group(
    group: Group, pairs: list[tuple[Block, Column]], layout: TableLayout, table: Table
) -> Iterable[list[str]]:
    width = len(layout.heads) + len(pairs)
    if group.title:
        yield [f"**{escape(group.title)}**", *[""] * (width - 1)]
    for row in group.rows:
        cells = [said(block, row.cells.get(column.point), layout, table) for block, column in pairs]
        yield [*map(escape, heads(row)), *map(_cell, cells)]


def _cell(cell: Said) -> str:
    value = f"**{escape(cell.value)}**" if cell.best else escape(cell.value)
    deviation = f" ± {cell.deviation}" if cell.deviation else ""
    return value + deviation + (f" ({', '.join(cell.flags)})" if cell.flags else "")


def _written(names: list[str], rows: list[list[str]], left: int, below: Sequence[str]) -> str:
    align = ["left"] * left + ["right"] * (len(names) - left)
    grid = tabulate(
        rows,
        list(map(escape, names)),
        "pipe",
        disable_numparse=True,
        colalign=align if rows else None,
    )
    return "\n\n".join([grid, *(escape(text) for text in below if text)]) + "\n"
