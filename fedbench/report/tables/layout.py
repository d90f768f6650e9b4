"""Cells arranged as rows × columns in blocks: printed, measured, difference, controls."""

from dataclasses import dataclass

from fedbench.paper.items import Table
from fedbench.plan.printed import axes
from fedbench.report.tables.entry import Entry
from fedbench.report.tables.rows import Group, Point, group_of, label_of, point_of
from fedbench.report.values.differences import common, merged, rest
from fedbench.report.values.numbers import axis_name

_ROOM = 6  # columns that a page has room for
_BLOCKS = {
    "printed": "Printed in the paper",
    "measured": "Measured here",
    "difference": "Difference",
    "controls": "Controls, measured here",
}


@dataclass(frozen=True)
class Column:
    """A column of a block: one level of each column axis."""

    point: Point
    label: str


@dataclass(frozen=True)
class Block:
    """Columns that show the same thing: 'printed', 'measured', 'difference' or 'controls'."""

    kind: str
    title: str
    columns: tuple[Column, ...]

    @property
    def size(self) -> int:
        """How many columns."""
        return len(self.columns)


@dataclass(frozen=True)
class Layout:
    """A whole table; `notes` are the substitutions that cells name one by one, by mark.

    `common` is what they share; `note` gives what a note says beyond it.
    """

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    notes: dict[str, str]  # what was substituted → its mark
    common: tuple[str, ...]
    swap: str  # all of them in one line; empty if some cells are the paper's own

    def note(self, text: str) -> str:
        """What is substituted for some cells only."""
        return rest(text, self.common)

    @property
    def is_wide(self) -> bool:
        """Whether a page has no room for blocks side by side."""
        return sum(block.size for block in self.blocks) > _ROOM

    @property
    def says_printed(self) -> bool:
        """Whether measured cells hold the printed numbers, as there is no room for their block."""
        return self.is_wide and any(block.kind == "printed" for block in self.blocks)

    @property
    def in_page(self) -> tuple[Block, ...]:
        """The blocks of an HTML table; in a wide one printed numbers stand in measured cells."""
        apart = ("printed", "difference") if self.is_wide else ()
        return tuple(block for block in self.blocks if block.kind not in apart)


def arrange(table: Table, entries: list[Entry]) -> Layout:
    """Group by the first row axis where there are two or more, as papers do."""
    rows, columns = axes(table)
    first, inner = (rows[:1], rows[1:]) if len(rows) > 1 else ((), rows)
    parts: dict[Point, list[Entry]] = {}
    for entry in entries:
        parts.setdefault(point_of(entry, first), []).append(entry)
    groups = tuple(
        group_of(label_of(first, title), own, inner, columns) for title, own in parts.items()
    )
    heads, texts = tuple(_head(axis) for axis in inner), _substitutions(groups)
    shared = common(texts)
    told = [text for text in texts if rest(text, shared)]
    notes = {text: str(mark) for mark, text in enumerate(told, start=1)}
    swap = merged(texts) if all(texts) else ""
    return Layout(heads, _blocks(entries, columns), groups, notes, shared, swap)


def _head(axis: str) -> str:
    """The axis as a word with a capital, or as its symbol."""
    name = axis_name(axis)
    return name[0].upper() + name[1:] if len(name) > 1 else name


def _blocks(entries: list[Entry], names: tuple[str, ...]) -> tuple[Block, ...]:
    found: dict[str, dict[Point, None]] = {kind: {} for kind in _BLOCKS}
    for entry in entries:
        for kind in _kinds(entry, "method" in names):
            found[kind][point_of(entry, names)] = None
    return tuple(
        Block(kind, _BLOCKS[kind], tuple(Column(point, label_of(names, point)) for point in points))
        for kind, points in found.items()
        if points
    )


def _kinds(entry: Entry, apart: bool) -> list[str]:
    """The blocks with a column for this cell; controls stand apart if methods are columns."""
    kinds = ["controls" if apart and entry.control else "measured"]
    kinds += ["printed"] if entry.printed is not None else []
    return kinds + (["difference"] if entry.difference is not None else [])


def _substitutions(groups: tuple[Group, ...]) -> list[str]:
    """What is substituted in cells, nothing included, where it is not the same in a whole group."""
    entries = [
        entry
        for group in groups
        if not group.substituted
        for row in group.rows
        for entry in row.cells.values()
    ]
    return list(dict.fromkeys(entry.substituted for entry in entries))
