"""Rows of a leaderboard of which no run is finished: they are named below it, not listed."""

from collections.abc import Sequence

from fedbench.paper.items import Table
from fedbench.plan.printed import axes
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.rows import Names, Point, label_of, point_of


def fold(table: Table, cells: Sequence[TableCell]) -> tuple[list[TableCell], tuple[str, ...]]:
    """The cells of rows with a run, and the others' names: 'δ = 0.5: MOON, FedDyn'.

    All cells are kept where the table lists its rows as given, as the papers' tables do, and where
    no run at all is finished.
    """
    rows, _ = axes(table)
    begun = {point_of(cell, rows) for cell in cells if len(cell.missing) < len(cell.runs)}
    if table.order == "as listed" or not begun:
        return list(cells), ()
    return [cell for cell in cells if point_of(cell, rows) in begun], _names(rows, cells, begun)


def _names(rows: Names, cells: Sequence[TableCell], begun: set[Point]) -> tuple[str, ...]:
    """One text per level of the first axis, or one of all rows if there is no other axis."""
    first, inner = (rows[:1], rows[1:]) if len(rows) > 1 else ((), rows)
    groups: dict[str, dict[str, bool]] = {}
    for cell in cells:
        title, name = label_of(first, point_of(cell, first)), label_of(inner, point_of(cell, inner))
        groups.setdefault(title, {})[name] = point_of(cell, rows) in begun
    said = []
    for title, members in groups.items():
        absent = [name for name, there in members.items() if not there]
        whole = len(absent) == len(members) > 1
        text = f"all {len(absent)}" if whole else ", ".join(absent)
        said += [": ".join(filter(None, (title, text)))] if absent else []
    return tuple(said)
