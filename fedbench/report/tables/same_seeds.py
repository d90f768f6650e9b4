"""Leaves each method the seeds that its rivals have: means over other seeds are no comparison."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from fedbench.report.tables.cells import TableCell

_Contest = tuple[str, str, str]


def with_same_seeds(cells: Iterable[TableCell]) -> list[TableCell]:
    """The cells with the seeds alone that more than half of a setting's methods are planned with.

    Further seeds of some methods are left aside, and so is a method that lacks one of these seeds.
    """
    of_contest: dict[_Contest, list[TableCell]] = {}
    for cell in cells:
        of_contest.setdefault(cell.contest, []).append(cell)
    return [cell for rivals in of_contest.values() for cell in _trimmed(rivals)]


def _trimmed(rivals: list[TableCell]) -> Iterable[TableCell]:
    usual = _of_most(rivals)
    for cell in rivals:
        if usual <= _seeds(cell):
            yield replace(cell, runs=tuple(run for run in cell.runs if run.seed in usual))


def _of_most(rivals: list[TableCell]) -> set[int]:
    times = Counter(seed for cell in rivals for seed in _seeds(cell))
    return {seed for seed, number in times.items() if 2 * number > len(rivals)}


def _seeds(cell: TableCell) -> set[int]:
    return {run.seed for run in cell.runs}
