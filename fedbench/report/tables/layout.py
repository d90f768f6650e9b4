"""How the cells of a table are laid out in rows and in blocks of columns.

The blocks are: printed, measured, difference, controls.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.paper.items import Table
from fedbench.plan.printed import axes
from fedbench.plan.substitutions import Substitutions, common, merged
from fedbench.report.tables.absent import fold
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.order import in_order
from fedbench.report.tables.rows import Group, Point, group_of, label_of, point_of
from fedbench.report.values.numbers import axis_name, fixed

_ROOM = 6  # how many columns a page has room for
_BLOCKS = {
    "printed": "Printed in the paper",
    "measured": "Measured here",
    "difference": "Difference",
    "controls": "Controls, measured here",
}


@dataclass(frozen=True)
class Column:
    """A column of a block: one level per column axis."""

    point: Point
    label: str


@dataclass(frozen=True)
class Block:
    """Columns of one kind: 'printed', 'measured', 'difference' or 'controls'."""

    kind: str
    title: str
    columns: tuple[Column, ...]

    @property
    def size(self) -> int:
        """How many columns it has."""
        return len(self.columns)


@dataclass(frozen=True)
class TableLayout:
    """A whole table.

    `notes` are the substitutions of single cells, each with the mark that its cells carry; `common`
    is what all of these substitutions share, and `note` says what one has beyond that. `pooled`
    names cells and says the deviation over seeds that they have together; `absent` names the rows
    of a leaderboard that are left out because no run of them is finished.
    """

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    notes: dict[Substitutions, str]  # what was substituted → its mark
    common: Substitutions
    swap: Substitutions  # all of them together; none if some cells are the paper's experiment
    pooled: tuple[str, ...]
    absent: tuple[str, ...] = ()

    def note(self, found: Substitutions) -> Substitutions:
        """Those that not all cells share."""
        return tuple(each for each in found if each not in self.common)

    @property
    def swaps(self) -> list[tuple[str, Substitutions]]:
        """What was substituted in groups or in all rows, each after the name of its rows."""
        named = self.named
        return [*named, ("Other rows" if named else "", self.swap)] if self.swap else named

    @property
    def named(self) -> list[tuple[str, Substitutions]]:
        """What was substituted in whole groups: each once, with the names of its groups."""
        names: dict[Substitutions, list[str]] = {}
        for group in self.groups:
            if group.substituted:
                names.setdefault(group.substituted, []).append(group.title or "All rows")
        return [(", ".join(titles), found) for found, titles in names.items()]

    @property
    def each(self) -> str:
        """How many runs are behind each number, such as '3 seeds'; '' if cells differ in it."""
        rows = [row for group in self.groups for row in group.rows]
        cells = [cell for row in rows for cell in row.cells.values() if cell]
        found = {len(cell.measured_runs) for cell in cells}
        if len(found) != 1 or any(cell.missing or cell.runs[0].at for cell in cells):
            return ""
        n = found.pop()
        return f"{n} seed{'' if n == 1 else 's'}" if n else ""

    @property
    def is_wide(self) -> bool:
        """Whether a page has no room for all blocks side by side."""
        return sum(block.size for block in self.blocks) > _ROOM

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
    cells, absent = fold(table, cells)
    rows, columns = axes(table)
    first, inner = (rows[:1], rows[1:]) if len(rows) > 1 else ((), rows)
    parts: dict[Point, list[TableCell]] = {}
    for cell in in_order(table, cells) if "method" in first else cells:
        parts.setdefault(point_of(cell, first), []).append(cell)
    groups = tuple(
        group_of(label_of(first, title), in_order(table, part), inner, columns)
        for title, part in parts.items()
    )
    heads, swaps = tuple(_head(axis) for axis in inner), _substitutions(groups)
    shared = common(swaps)
    noted = [found for found in swaps if {*found} - {*shared}]
    notes = {found: str(mark) for mark, found in enumerate(noted, start=1)}
    swap = merged(swaps) if all(swaps) else ()
    across = in_order(table, cells) if "method" in columns else cells
    blocks, pooled = _blocks(across, columns), tuple(_pooled(table, cells))
    return TableLayout(heads, blocks, groups, notes, shared, swap, pooled, absent)


def _head(axis: str) -> str:
    """The axis as a word with a capital, or as its symbol."""
    name = axis_name(axis)
    return name[0].upper() + name[1:] if len(name) > 1 else name


def _blocks(cells: list[TableCell], names: tuple[str, ...]) -> tuple[Block, ...]:
    columns: dict[str, dict[Point, None]] = {kind: {} for kind in _BLOCKS}
    for cell in cells:
        for kind in _kinds(cell, "method" in names):
            columns[kind][point_of(cell, names)] = None
    return tuple(
        Block(kind, _BLOCKS[kind], tuple(Column(point, label_of(names, point)) for point in points))
        for kind, points in columns.items()
        if points
    )


def _kinds(cell: TableCell, apart: bool) -> list[str]:
    """The blocks in which the cell stands; `apart`: controls have a separate block."""
    kinds = ["controls" if apart and cell.control else "measured"]
    kinds += ["printed"] if cell.printed is not None else []
    return kinds + (["difference"] if cell.difference is not None else [])


def _pooled(table: Table, cells: list[TableCell]) -> Iterator[str]:
    """'α = 0.2: ± 1.93 (20)' for each deviation; the name has what its cells alone share."""
    groups: dict[int, list[TableCell]] = {}
    for cell in cells:
        if cell.pooled is not None:
            groups.setdefault(id(cell.pooled), []).append(cell)  # equal numbers may be others'
    for group in groups.values():
        shared = [axis for axis in group[0].coords if _are_equal(axis, group)]
        names = tuple(axis for axis in shared if not _are_equal(axis, cells))
        name = label_of(names, point_of(group[0], names))
        if pooled := group[0].pooled:
            number = f"± {fixed(pooled.std, table.digits)} ({pooled.freedom})"
            yield f"{name}: {number}" if name else number


def _are_equal(axis: str, cells: list[TableCell]) -> bool:
    return len({str(cell.coords[axis]) for cell in cells}) == 1


def _substitutions(groups: tuple[Group, ...]) -> list[Substitutions]:
    """What is substituted in the cells of groups whose cells differ in it, each once."""
    cells = [
        cell
        for group in groups
        if not group.substituted
        for row in group.rows
        for cell in row.cells.values()
    ]
    return list(dict.fromkeys(cell.substituted for cell in cells))
