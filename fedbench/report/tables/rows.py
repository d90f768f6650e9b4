"""Rows of a table grouped under a title, with headings that span several rows."""

from dataclasses import dataclass

from fedbench.paper.places import Level
from fedbench.report.tables.entry import Entry
from fedbench.report.values.numbers import level_name, point_name

Point = tuple[Level, ...]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """Row headings with the rows each spans (0: drawn above already), and cells by column."""

    heads: tuple[tuple[str, int], ...]
    cells: dict[Point, Entry]
    control: bool


@dataclass(frozen=True)
class Group:
    """Rows under one title; `substituted` where it is the same for all of their cells."""

    title: str
    rows: tuple[Row, ...]
    substituted: str


def point_of(entry: Entry, names: Names) -> Point:
    """The cell's levels on some axes."""
    return tuple(entry.coords[axis] for axis in names)


def label_of(names: Names, point: Point) -> str:
    """Levels as a heading: 'MNIST, α = 0.1'."""
    return ", ".join(point_name(axis, level) for axis, level in zip(names, point, strict=True))


def group_of(title: str, entries: list[Entry], inner: Names, columns: Names) -> Group:
    """The group's rows, one for each point of its inner axes."""
    points = _in_order(entries, inner)
    rows = [[entry for entry in entries if point_of(entry, inner) == point] for point in points]
    drawn = tuple(
        Row(
            _heads(points, i, inner),
            {point_of(entry, columns): entry for entry in row},
            "method" in inner and all(entry.control for entry in row),
        )
        for i, row in enumerate(rows)
    )
    same = {entry.substituted for entry in entries}
    return Group(title, drawn, same.pop() if len(same) == 1 else "")


def _in_order(entries: list[Entry], names: Names) -> list[Point]:
    """The points, the last axis fastest, levels in the order in which they appear."""
    levels = [list(dict.fromkeys(entry.coords[axis] for entry in entries)) for axis in names]
    points = dict.fromkeys(point_of(entry, names) for entry in entries)
    return sorted(
        points, key=lambda p: [known.index(x) for known, x in zip(levels, p, strict=True)]
    )


def _heads(points: list[Point], i: int, names: Names) -> tuple[tuple[str, int], ...]:
    heads = []
    for depth, axis in enumerate(names, start=1):
        start = points[i][:depth]
        new = i == 0 or points[i - 1][:depth] != start
        span = sum(point[:depth] == start for point in points) if new else 0
        heads.append((level_name(axis, points[i][depth - 1]), span))
    return tuple(heads)
