"""The rows of a table, in groups under a title, with headings that span several rows."""

from dataclasses import dataclass

from fedbench.paper.notation import Level
from fedbench.plan.substitutions import Substitutions
from fedbench.report.tables.cells import TableCell
from fedbench.report.values.numbers import level_name, point_name

Point = tuple[Level, ...]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One row: headings, each with how many rows it spans, and cells by column.

    A heading that spans 0 rows was written in a row above.
    """

    heads: tuple[tuple[str, int], ...]
    cells: dict[Point, TableCell]
    control: bool


@dataclass(frozen=True)
class Group:
    """Rows under one title.

    `substituted` says what was substituted in all of their cells; empty if the cells differ in it.
    """

    title: str
    rows: tuple[Row, ...]
    substituted: Substitutions


def point_of(cell: TableCell, names: Names) -> Point:
    """The cell's levels of the axes `names`."""
    return tuple(cell.coords[axis] for axis in names)


def label_of(names: Names, point: Point) -> str:
    """The levels as a heading: 'MNIST, α = 0.1'."""
    return ", ".join(point_name(axis, level) for axis, level in zip(names, point, strict=True))


def group_of(title: str, cells: list[TableCell], inner: Names, columns: Names) -> Group:
    """The group of these cells, one row per combination of levels of the `inner` axes."""
    points = _in_order(cells, inner)
    rows = [[cell for cell in cells if point_of(cell, inner) == point] for point in points]
    drawn = tuple(
        Row(
            _heads(points, i, inner),
            {point_of(cell, columns): cell for cell in row},
            "method" in inner and all(cell.control for cell in row),
        )
        for i, row in enumerate(rows)
    )
    same = {cell.substituted for cell in cells}
    return Group(title, drawn, same.pop() if len(same) == 1 else ())


def _in_order(cells: list[TableCell], names: Names) -> list[Point]:
    """The points sorted axis by axis, levels in the order in which they appear."""
    levels = [list(dict.fromkeys(cell.coords[axis] for cell in cells)) for axis in names]
    points = dict.fromkeys(point_of(cell, names) for cell in cells)
    return sorted(
        points, key=lambda p: [order.index(x) for order, x in zip(levels, p, strict=True)]
    )


def _heads(points: list[Point], i: int, names: Names) -> tuple[tuple[str, int], ...]:
    heads = []
    for depth, axis in enumerate(names, start=1):
        start = points[i][:depth]
        new = i == 0 or points[i - 1][:depth] != start
        span = sum(point[:depth] == start for point in points) if new else 0
        heads.append((level_name(axis, points[i][depth - 1]), span))
    return tuple(heads)
