"""The order in which a table lists its methods."""

import math
from collections.abc import Sequence

from fedbench.paper.items import Table
from fedbench.paper.notation import Level
from fedbench.report.tables.best import comparable
from fedbench.report.tables.cells import TableCell


def in_order(table: Table, cells: Sequence[TableCell]) -> list[TableCell]:
    """The cells as they are listed, or those of the best method first.

    The best has the highest mean of the table's first metric over these cells, or of the first
    that they have. Methods without a number come last; equal ones stay as the grid lists them.
    """
    if table.order == "as listed":
        return list(cells)
    there = {cell.place.metric for cell in cells}
    first = next((metric for metric in table.metrics if metric in there), "")
    scores: dict[Level | None, list[float]] = {}
    for cell in cells:
        if cell.place.metric == first:
            scores.setdefault(cell.coords.get("method"), []).append(comparable(cell, table))
    means = {method: math.fsum(values) / len(values) for method, values in scores.items()}
    return sorted(cells, key=lambda cell: -means[cell.coords.get("method")])
