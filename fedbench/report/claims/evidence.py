"""The numbers that a claim compares, at points of a grid: those printed and those of finished runs.

Scores are in percent.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper import moments
from fedbench.paper.claims import SingleClaim
from fedbench.paper.metrics import HELD, Metric
from fedbench.paper.notation import reading
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.points import matches, points
from fedbench.plan.printed import Printed, Stat, place_of
from fedbench.report.claims.finding import Void
from fedbench.report.claims.sides import Coords, Points, spelled
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.spec import RunSpec

Repeats = dict[str, float]  # one value per seed, or per seed and levels of other axes


class Numbers(ABC):
    """Numbers at the points of a grid."""

    @abstractmethod
    def values(self, point: Coords) -> Repeats:
        """One value per repeat; a repeat without a value is left out."""

    def spread(self, point: Coords) -> float | None:
        """A standard deviation that is given without single values; None elsewhere."""
        return None

    def history(self, point: Coords) -> dict[str, pd.Series]:
        """Per repeat, the metric by evaluated round, up to the last planned round."""
        return {}


class MeasuredNumbers(Numbers):
    """The numbers that a grid's runs gave; the axes in `over` count as repeats, as seeds do.

    Those of a table that is not `kept` are not compared: the scale leaves the table out, such as
    one of seconds whose runs were made beside other work.
    """

    def __init__(
        self,
        plan: Plan,
        paper: str,
        collected: Collected,
        grid: str,
        over: tuple[str, ...],
        kept: bool = True,
    ) -> None:
        self._axes, self._over = plan.asked[paper].grids[grid].axes, over
        self._collected, self.kept = collected, kept
        self._guessed = collected.tuned_near_chance(plan, paper)
        planned = plan.select(paper, grid, {}) if kept else ()
        self._cells = grouped(planned, lambda cell: self._key(cell.coords))
        self._column = cache(lambda metric: moments.values(collected.frame, metric, "final"))
        self._table = cache(collected.table)

    def cells(self, point: Coords) -> list[Cell]:
        """The cells planned at a point, one per repeat."""
        return self._cells.get(self._key(point), [])

    def _runs(self, points: Iterable[Coords]) -> dict[str, RunSpec]:
        return {cell.run_id: cell.run for point in points for cell in self.cells(point)}

    def read_at(self, point: Coords) -> frozenset[tuple[str, str]]:
        """What is read at a point: ids of runs, each with the levels that are no axis' of the grid.

        Those are the metric, and places in a probe's table.
        """
        place = str(sorted((k, v) for k, v in point.items() if k not in self._axes))
        return frozenset((cell.run_id, place) for cell in self.cells(point))

    def diverged(self, points: Points) -> int:
        """How many of the runs behind these points ended early."""
        return sum(self._collected.diverged(run) for run in self._runs(points))

    def near_chance(self, points: Points) -> Void | None:
        """Why what is compared at these points is chance as much as the methods, if it is."""
        if self._guessed & self._served(points).keys():
            return Void.CHOSEN_NEAR_CHANCE
        return Void.NEAR_CHANCE if self._only_guesses(points) else None

    def at_chance(self, points: Points) -> int:
        """How many of the runs behind these points end with an accuracy near that of guessing."""
        ends = self._column("accuracy") if "accuracy" in self._collected.frame else {}
        served = self._served(points).items()
        return sum(ends.get(name, 1.0) < self._limit(run) for name, run in served)

    def _served(self, points: Points) -> dict[str, RunSpec]:
        """The runs but for points of what the clients hold, which no training changes."""
        read = ((point, reading(str(point["metric"])).metric) for point in points)
        return self._runs(p for p, column in read if column.partition("/")[0] not in HELD)

    def _limit(self, run: RunSpec) -> float:
        """The accuracy below which a run may only guess; 0 where that is unknown."""
        guess = self._collected.guess_of(run.dataset)
        return guess.limit if guess else 0.0

    def _only_guesses(self, points: Points) -> bool:
        """Whether all that is compared are accuracies, and each is near that of guessing.

        That two methods are equal while neither has learned says nothing about them.
        """
        if not all(Metric(str(point["metric"])).is_of_labels for point in points):
            return False
        near = [
            value < 100 * self._limit(self.cells(point)[0].run)
            for point in points
            for value in self.values(point).values()
        ]
        return bool(near) and all(near)

    def collected(self, run_id: str) -> bool:
        """Whether the run is finished."""
        return run_id in self._collected.states

    def too_late(self, point: Coords) -> bool:
        """Whether the metric asks for rounds that the runs do not have."""
        needs = reading(str(point["metric"])).needs
        return any(cell.run.rounds < needs for cell in self.cells(point))

    def values(self, point: Coords) -> Repeats:
        """One value per run; a run that ends before the rounds asked for has none."""
        factor = _factor(str(point["metric"]))
        read = {self._repeat(cell): self._value(cell, point) for cell in self.cells(point)}
        return {repeat: value * factor for repeat, value in read.items() if value is not None}

    def history(self, point: Coords) -> dict[str, pd.Series]:
        """Per run, the metric by round; a diverged run keeps its last value to the end."""
        metric = reading(str(point["metric"])).metric
        curves = {self._repeat(c): self._curve(c.run, metric) for c in self.cells(point)}
        return {key: curve * _factor(metric) for key, curve in curves.items() if len(curve)}

    def _value(self, cell: Cell, point: Coords) -> float | None:
        metric = str(point["metric"])
        name = reading(metric).metric
        if "/" in name:
            return self._of_table(cell.run_id, name, point)
        return None if self.too_late(point) else self._column(metric).get(cell.run_id)

    def _of_table(self, run: str, name: str, point: Coords) -> float | None:
        """The mean of 'probe/column' over the rows of the probe's table that match the point."""
        probe, _, column = name.partition("/")
        table = self._table(run, probe)
        for other in point.keys() - self._axes.keys() - {"metric"}:
            table = table[table[other] == point[other]] if other in table else table[:0]
        return float(table[column].mean()) if column in table and len(table) else None

    def _curve(self, run: RunSpec, metric: str) -> pd.Series:
        if metric not in self._collected.frame or not self.collected(run.id):
            return pd.Series(dtype=float)
        of_run = self._histories.get_group((run.id,))
        curve: pd.Series = frames.curves(of_run, metric, [run])[run.id]
        return curve.dropna()

    @cached_property
    def _histories(self) -> Any:
        return self._collected.frame.groupby(["run_id"])

    def _key(self, coords: Coords) -> str:
        return str([coords[axis] for axis in self._axes if axis not in self._over])

    def _repeat(self, cell: Cell) -> str:
        return str([cell.seed, *(cell.coords[axis] for axis in self._over)])


def _factor(metric: str) -> float:
    """What a value of the frame is multiplied by: scores are fractions there, percent here."""
    return 100.0 if Metric(metric).is_score else 1.0


def _key(point: Coords) -> str:
    return str(sorted(point.items()))


@dataclass(frozen=True)
class PrintedNumbers(Numbers):
    """What the paper prints, by point."""

    stats: dict[str, Stat]

    def values(self, point: Coords) -> Repeats:
        """The printed mean as the only repeat; empty if none is printed."""
        stat = self.stats.get(_key(point))
        return {"printed": stat.mean} if stat else {}

    def spread(self, point: Coords) -> float | None:
        """The printed standard deviation; None if none is printed."""
        stat = self.stats.get(_key(point))
        return stat.std if stat else None


class PaperNumbers:
    """Measured and printed numbers of one paper, read once for all of its claims."""

    def __init__(self, plan: Plan, key: str, collected: Collected, printed: Printed) -> None:
        self.plan, self.key, self._numbers = plan, key, printed.numbers
        self._measured = cache(partial(MeasuredNumbers, plan, key, collected))
        self._table = cache(self._read)

    def measured_for(self, claim: SingleClaim) -> MeasuredNumbers:
        """What was measured on the claim's grid; nothing if the scale leaves the table out."""
        tables = self.plan.asked[self.key].tables
        over = tables[claim.table].over if claim.table else ()
        grid = claim.grid or tables[claim.table].grid
        kept = not claim.table or claim.table in self.plan.papers[self.key].tables
        return self._measured(grid, over, kept)

    def printed_for(self, claim: SingleClaim) -> PrintedNumbers:
        """The printed numbers of the claim's table, or of its grid's tables; the first wins."""
        stats: dict[str, Stat] = {}
        for key, table in self.plan.asked[self.key].tables.items():
            fitting = claim.table == key or (not claim.table and table.grid == claim.grid)
            if fitting and not table.minus:
                stats = self._table(key) | stats
        return PrintedNumbers(stats)

    def _read(self, key: str) -> dict[str, Stat]:
        """The printed numbers of the table `key`, each by its point."""
        found: dict[str, Stat] = {}
        paper = self.plan.asked[self.key]
        table = paper.tables[key]
        shown = [p for p in points(paper.grids[table.grid]) if matches(p, table.where)]
        for metric in table.metrics:
            factor = Metric(metric).points(table)
            at: Coords = {"metric": spelled(metric, table.at)}
            for point in shown:
                if stat := self._numbers.get(place_of(key, paper, point, metric)):
                    where = {axis: x for axis, x in point.items() if axis not in table.over}
                    std = None if stat.std is None else stat.std * factor
                    found[_key(where | at)] = Stat(stat.mean * factor, std)
        return found
