"""How the cells of a table are laid out in groups of rows and in blocks of columns."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fedbench.base.grouping import grouped
from fedbench.paper.grid_points import Substitutions
from fedbench.paper.metrics import Metric
from fedbench.paper.printed_numbers import axes
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import Level
from fedbench.report.tables.cells import TableCell, in_order
from fedbench.report.values.numbers import axis_name, fixed, level_name, point_name

Point = tuple[Level, ...]
Names = tuple[str, ...]
_ROOM = 6  # how many columns a page has room for
_BLOCKS = {
    "printed": "Printed in the paper",
    "measured": "Measured here",
    "difference": "Difference",
    "controls": "Controls, measured here",
}


class Row(NamedTuple):
    """One row: headings, and cells by column."""

    heads: tuple[tuple[str, int], ...]  # each with how many rows it spans; 0: written above
    cells: dict[Point, TableCell]
    control: bool


class Group(NamedTuple):
    """Rows under one title."""

    title: str
    rows: tuple[Row, ...]
    substituted: Substitutions  # in all of their cells; empty if the cells differ in it

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [cell for row in self.rows for cell in row.cells.values()]


class Block(NamedTuple):
    """Columns of one kind: 'printed', 'measured', 'difference' or 'controls'."""

    kind: str
    title: str
    columns: dict[Point, str]  # their labels, by one level per column axis


@dataclass(frozen=True)
class TableLayout:
    """A whole table."""

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    marks: dict[Substitutions, str]  # of single cells, each with the mark that its cells carry
    pooled: tuple[str, ...]  # names of cells with the deviation over seeds that they share
    absent: tuple[str, ...] = ()  # rows of a leaderboard that are left out: no run is finished

    @property
    def notes(self) -> list[tuple[str, Substitutions]]:
        """What was substituted, each once, after the names of its groups of rows or its mark."""
        swapped = [group for group in self.groups if group.substituted]
        alike = grouped(swapped, lambda group: group.substituted).items()
        named = [(", ".join(x.title or "All rows" for x in of), found) for found, of in alike]
        return [*named, *((f"({mark})", found) for found, mark in self.marks.items())]

    @property
    def is_wide(self) -> bool:
        """Whether a page has no room for all blocks side by side."""
        return sum(len(block.columns) for block in self.blocks) > _ROOM

    @property
    def says_printed(self) -> bool:
        """Whether printed numbers stand in measured cells, as there is no room for their block."""
        return self.is_wide and any(block.kind == "printed" for block in self.blocks)

    @property
    def in_page(self) -> tuple[Block, ...]:
        """The blocks that an HTML page shows."""
        apart = ("printed", "difference") if self.is_wide else ()
        return tuple(block for block in self.blocks if block.kind not in apart)


def arrange(table: Table, cells: list[TableCell]) -> TableLayout:
    """Lay out the cells, grouped by the first row axis if there are two or more, as papers do."""
    (rows, columns), absent = axes(table), tuple[str, ...]()
    apart = len(rows) - 1  # best first is within one setting
    cut = apart if table.order != "as listed" and rows[-1:] == ("method",) else min(1, apart)
    first, inner = rows[:cut], rows[cut:]
    begun = {_point(cell, rows) for cell in cells if len(cell.missing) < len(cell.runs)}
    if begun and table.order != "as listed":  # there, rows without a finished run are left out
        absent = tuple(_absent(first, inner, cells, begun))
        cells = [cell for cell in cells if _point(cell, rows) in begun]
    ordered = in_order(table, cells) if "method" in first else cells
    parts = grouped(ordered, lambda cell: _point(cell, first))
    groups = tuple(
        _group(label_of(part[0], first), in_order(table, part), inner, columns)
        for part in parts.values()
    )
    names = map(axis_name, inner)
    heads = tuple(name[0].upper() + name[1:] if len(name) > 1 else name for name in names)
    labels: dict[str, dict[Point, str]] = {kind: {} for kind in _BLOCKS}
    for cell in in_order(table, cells) if "method" in columns else cells:
        label = {_point(cell, columns): label_of(cell, columns)}
        labels["controls" if "method" in columns and cell.control else "measured"] |= label
        labels["printed"] |= {} if cell.printed is None else label
        labels["difference"] |= {} if cell.difference is None else label
    scores = all(Metric(metric).is_score for metric in table.metrics)
    titles = _BLOCKS | ({"difference": "Difference in points"} if scores else {})
    blocks = tuple(Block(kind, titles[kind], of) for kind, of in labels.items() if of)
    mixed = [cell for group in groups if not group.substituted for cell in group.cells]
    alone = (cell.substituted for cell in mixed)
    marks = {x: str(n) for n, x in enumerate(dict.fromkeys(filter(None, alone)), start=1)}
    return TableLayout(heads, blocks, groups, marks, tuple(_pooled(table, cells)), absent)


def _pooled(table: Table, cells: list[TableCell]) -> Iterator[str]:
    """'α = 0.2: ± 1.93 (20)' for each deviation; the name has what its cells alone share."""
    having = [cell for cell in cells if cell.pooled]  # equal numbers may be others', ids not
    for group in grouped(having, lambda cell: id(cell.pooled)).values():
        apart = [x for x in group[0].coords if _are_equal(x, group) and not _are_equal(x, cells)]
        name = label_of(group[0], tuple(apart))
        if pooled := group[0].pooled:
            number = f"± {fixed(pooled.std, table.digits)} ({pooled.freedom})"
            yield f"{name}: {number}" if name else number


def _are_equal(axis: str, cells: list[TableCell]) -> bool:
    return len({str(cell.coords[axis]) for cell in cells}) == 1


def _point(cell: TableCell, names: Names) -> Point:
    return tuple(cell.coords[axis] for axis in names)


def label_of(cell: TableCell, names: Names) -> str:
    """The cell's levels of the axes `names` as a heading: 'MNIST, α = 0.1'."""
    return ", ".join(point_name(axis, cell.coords[axis]) for axis in names)


def _group(title: str, cells: list[TableCell], inner: Names, columns: Names) -> Group:
    """One row per combination of levels of the `inner` axes."""
    rows = grouped(cells, lambda cell: _point(cell, inner))
    spans = Counter(point[:depth] for point in rows for depth in range(1, len(inner) + 1))
    # axis by axis, levels in the order in which they appear
    levels = [list(dict.fromkeys(cell.coords[axis] for cell in cells)) for axis in inner]
    drawn = []
    for point in sorted(rows, key=lambda point: [*map(list.index, levels, point)]):
        heads = tuple(
            (level_name(axis, level), spans.pop(point[:depth], 0))
            for depth, (axis, level) in enumerate(zip(inner, point, strict=True), start=1)
        )
        control = "method" in inner and all(cell.control for cell in rows[point])
        drawn.append(Row(heads, {_point(cell, columns): cell for cell in rows[point]}, control))
    same = {cell.substituted for cell in cells}
    return Group(title, tuple(drawn), same.pop() if len(same) == 1 else ())


def _absent(
    first: Names, inner: Names, cells: Sequence[TableCell], begun: set[Point]
) -> Iterator[str]:
    """The rows without a finished run, by level of the first axis: 'δ = 0.5: MOON, FedDyn'."""
    for title, members in grouped(cells, lambda cell: label_of(cell, first)).items():
        there = {label_of(cell, inner): _point(cell, (*first, *inner)) in begun for cell in members}
        absent = [name for name, is_there in there.items() if not is_there]
        whole = len(absent) == len(there) > 1
        text = f"all {len(absent)}" if whole else ", ".join(absent)
        if absent:
            yield ": ".join(filter(None, (title, text)))
