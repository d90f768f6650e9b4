"""Cells that differ in the method alone: which is best, how they are listed, whose seeds count."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import Level
from fedbench.report.tables.cells import Contest, TableCell


def comparable(cell: TableCell, table: Table) -> float:
    """The measured mean as a number of which more is better, by which methods are ranked.

    It is rounded to the table's digits, and −∞ if it is not finite.
    """
    mean = cell.measured.mean if cell.measured else float("nan")
    sign = -1 if Metric(cell.place.metric).lower_is_better else 1
    return -float("inf") if mean != mean else sign * round(mean, table.digits)


def mark_best(cells: Sequence[TableCell], table: Table) -> list[TableCell]:
    """Mark the best method's cell among those cells that differ in the method alone.

    Values that are equal at the table's digits tie. All that tie for the best are marked, but none
    if they are more than half, none that is near chance, none where a method's settings were chosen
    by trials near chance, and none while a method has a run, such as a further seed, that another
    one lacks.
    """
    rivals: dict[Contest, list[float]] = {}
    having: dict[Contest, set[frozenset[str]]] = {}
    for cell in (cell for cell in cells if not cell.control):
        there = frozenset(run.name for run in cell.runs if run not in cell.missing)
        having.setdefault(cell.contest, set()).add(there)
        if cell.measured is not None:
            rivals.setdefault(cell.contest, []).append(comparable(cell, table))
    uneven = {contest for contest, sets in having.items() if len(sets) > 1 or frozenset() in sets}
    uneven |= {c.contest for c in cells if c.tuned_near_chance and not c.control}
    return [
        replace(cell, best=cell.contest not in uneven and _is_best(cell, rivals, table))
        for cell in cells
    ]


def _is_best(cell: TableCell, rivals: dict[Contest, list[float]], table: Table) -> bool:
    ranked, scores = Metric(cell.place.metric).is_ranked, rivals.get(cell.contest, [])
    if not ranked or cell.control or cell.measured is None or cell.is_near_chance:
        return False
    best = max(scores)
    leads = len(scores) > 1 and 2 * scores.count(best) <= len(scores)
    return leads and comparable(cell, table) == best > -math.inf


def learned(cells: Iterable[TableCell]) -> set[Contest]:
    """The contests in which some cell is not near chance, and none was tuned by trials near it."""
    asked = list(cells)
    found = {cell.contest for cell in asked if not cell.is_near_chance}
    return found - {cell.contest for cell in asked if cell.tuned_near_chance}


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


def with_same_seeds(cells: Iterable[TableCell]) -> list[TableCell]:
    """The cells with the seeds alone that more than half of a contest's methods are planned with.

    Means over other seeds are no comparison: further seeds of some methods are left aside, and so
    is a method that lacks one of these seeds.
    """
    contests: dict[Contest, list[tuple[TableCell, set[int]]]] = {}
    for cell in cells:
        contests.setdefault(cell.contest, []).append((cell, {run.seed for run in cell.runs}))
    trimmed = []
    for rivals in contests.values():
        times = Counter(seed for _, seeds in rivals for seed in seeds)
        usual = {seed for seed, number in times.items() if 2 * number > len(rivals)}
        for cell in (cell for cell, seeds in rivals if usual <= seeds):
            runs = tuple(run for run in cell.runs if run.seed in usual)
            trimmed.append(replace(cell, runs=runs))
    return trimmed
