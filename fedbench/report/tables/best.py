"""Which cell of a table is the best among those that differ in the method alone."""

from dataclasses import replace

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.report.tables.cells import TableCell


def mark_best(cells: list[TableCell], table: Table) -> list[TableCell]:
    """Mark the best method's cell among those cells that differ in the method alone.

    Values that are equal at the table's digits tie. All that tie for the best are marked, but none
    if they are more than half, none that is near chance, none where a method's settings were chosen
    by trials near chance, and none while a method has a run, such as a further seed, that another
    one lacks.
    """
    rivals: dict[tuple[str, str, str], list[float]] = {}
    even = _even([cell for cell in cells if not cell.control])
    for cell in (cell for cell in cells if cell.contest in even):
        if not cell.control and cell.measured is not None:
            rivals.setdefault(cell.contest, []).append(comparable(cell, table))
    return [
        replace(cell, best=_is_best(cell, rivals.get(cell.contest, []), table)) for cell in cells
    ]


def _even(cells: list[TableCell]) -> set[tuple[str, str, str]]:
    """The contests in which all methods have the same runs, and none lacks all of its own.

    Contests in which a method's settings are as good as random are not even either.
    """
    having: dict[tuple[str, str, str], set[frozenset[str]]] = {}
    for cell in cells:
        there = frozenset(run.name for run in cell.runs if run not in cell.missing)
        having.setdefault(cell.contest, set()).add(there)
    out = {c.contest for c in cells if c.blind or len(c.missing) == len(c.runs)}
    return {contest for contest, sets in having.items() if len(sets) == 1} - out


def _is_best(cell: TableCell, rivals: list[float], table: Table) -> bool:
    ranked = Metric(cell.place.metric).is_ranked and not cell.control
    if not ranked or cell.measured is None or len(rivals) < 2 or cell.is_near_chance:
        return False
    best = max(rivals)
    return comparable(cell, table) == best > -float("inf") and 2 * rivals.count(best) <= len(rivals)


def comparable(cell: TableCell, table: Table) -> float:
    """The measured mean as a number of which more is better, by which methods are ranked.

    It is rounded to the table's digits, and −∞ if it is not finite.
    """
    mean = cell.measured.mean if cell.measured else float("nan")
    sign = -1 if Metric(cell.place.metric).lower_is_better else 1
    return -float("inf") if mean != mean else sign * round(mean, table.digits)
