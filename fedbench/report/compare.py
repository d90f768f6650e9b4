"""Compares the tables of two folders of results cell by cell: two scales, or two machines."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats

from fedbench.base.files import exists
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Place, Printed
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.gather import table_cells
from fedbench.report.values import frames
from fedbench.store import Results

RISK = 0.05  # the share of false alarms among the cells that are said to differ
At = tuple[str, Place]  # a table as 'paper/table', and a place in it


@dataclass(frozen=True)
class Side:
    """One folder of results: the plan of its scale, and the folder with `runs/`."""

    plan: Plan
    results: Path

    def cells(self) -> dict[At, TableCell]:
        """The measured cells of all tables whose papers were collected here."""
        return {(table, cell.place): cell for table, cell in self._cells() if cell.measured}

    def _cells(self) -> Iterator[tuple[str, TableCell]]:
        for name, paper in self.plan.papers.items():
            file = Results(self.results).frame(self.plan.scale, name)
            frame = frames.read(file)
            for key in paper.tables if exists(file) else ():
                for cell in table_cells(self.plan, (name, key), frame, Printed(file, {})):
                    yield f"{name}/{key}", cell


@dataclass(frozen=True)
class Pair:
    """A cell that both sides measured.

    `p` is the probability of so large a difference between equal means, by Welch's t-test on the
    seeds; None with a single seed. `apart` says whether it is beyond what the seeds explain.
    """

    table: str
    place: Place
    one: TableCell
    other: TableCell
    p: float | None
    apart: bool = False

    @property
    def difference(self) -> float:
        """The second mean minus the first, in the unit of the table."""
        one, other = self.one.measured, self.other.measured
        if one is None or other is None:
            return math.nan
        return 0.0 if one.mean == other.mean else other.mean - one.mean  # both may be infinite

    @property
    def same(self) -> bool:
        """Whether both sides have the same numbers, seed by seed."""
        one, other = ([run.value for run in c.measured_runs] for c in (self.one, self.other))
        return one == other


@dataclass(frozen=True)
class Compared:
    """All cells that both sides have, and how many only one of them has."""

    pairs: list[Pair]
    only_one: int
    only_other: int

    @property
    def apart(self) -> list[Pair]:
        """The cells that differ beyond the seeds' spread, the surest first."""
        return sorted((pair for pair in self.pairs if pair.apart), key=lambda pair: pair.p or 0.0)


def compare(one: Side, other: Side) -> Compared:
    """Join the cells of two folders and test each for a difference.

    Of the cells that are called apart at most 5 % are expected to be false alarms (Benjamini and
    Hochberg's procedure).
    """
    first, second = one.cells(), other.cells()
    pairs = [
        Pair(*at, cell, second[at], _p(_values(cell), _values(second[at])))
        for at, cell in first.items()
        if at in second
    ]
    return Compared(_marked(pairs), len(first.keys() - second), len(second.keys() - first))


def _values(cell: TableCell) -> list[float]:
    return [run.value for run in cell.measured_runs if run.value is not None]


def _p(one: list[float], other: list[float]) -> float | None:
    """The p-value of Welch's t-test; None where a side has one run, or a value is not finite."""
    if min(len(one), len(other)) < 2 or not np.isfinite([*one, *other]).all():
        return None
    if len({*one}) == len({*other}) == 1:  # no spread on either side
        return float(one[0] == other[0])
    return float(stats.ttest_ind(one, other, equal_var=False).pvalue)


def _marked(pairs: list[Pair]) -> list[Pair]:
    """The pairs, those marked whose difference is beyond what the seeds explain."""
    tested = [pair for pair in pairs if pair.p is not None]
    adjusted = stats.false_discovery_control([pair.p for pair in tested]) if tested else ()
    apart = {id(pair) for pair, p in zip(tested, adjusted, strict=True) if p < RISK}
    return [replace(pair, apart=id(pair) in apart) for pair in pairs]
