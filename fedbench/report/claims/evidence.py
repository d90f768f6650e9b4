"""The numbers that a claim compares at points of a grid, printed and measured, in percent."""

from collections.abc import Mapping
from functools import cache
from itertools import product

import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper.grid_points import matches, points
from fedbench.paper.metrics import HELD, Metric, measures
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import Printed, Stat, place_of
from fedbench.paper.yaml_notation import reading
from fedbench.plan.plan import Cell, Plan
from fedbench.report.claims.compared_sides import Coords, Points, spelled
from fedbench.report.claims.finding import Void
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected
from fedbench.spec import RunSpec

Repeats = dict[str, float]  # one value per seed, or per seed and levels of other axes


class MeasuredNumbers:
    """What was measured on the grid of a claim or of its table; nothing unless that is `kept`."""

    def __init__(self, plan: Plan, key: str, collected: Collected, table: str, grid: str) -> None:
        paper, self.collected = plan.asked[key], collected
        self.kept = not table or table in plan.papers[key].tables
        self._over = paper.tables[table].over if table else ()  # axes that are repeats
        meant = paper.tables[table].where if table else {}
        repeated = {axis: levels for axis, levels in meant.items() if axis in self._over}
        grid = grid or paper.tables[table].grid
        self._axes = paper.grids[grid].axes
        self._guessed = collected.tuned_near_chance(plan, key)
        planned = plan.select(key, grid, repeated) if self.kept else ()
        self._cells = grouped(planned, lambda cell: self._key(cell.coords))
        self._table = cache(collected.table)
        self._histories = collected.frame.groupby(["run_id"])

    def cells(self, point: Coords) -> list[Cell]:
        """The cells planned at a point, one per repeat."""
        return self._cells.get(self._key(point), [])

    def near_chance(self, points: Points) -> Void | None:
        """Why what is compared at these points is chance as much as the methods, if it is."""
        if self._guessed & self._served(points).keys():
            return Void.CHOSEN_NEAR_CHANCE
        if not all(Metric(str(point["metric"])).is_of_labels for point in points):
            return None
        near = [
            value < 100 * self._limit(self.cells(point)[0].run)
            for point in points
            for value in self.values(point).values()
        ]
        return Void.NEAR_CHANCE if near and all(near) else None

    def at_chance(self, points: Points) -> int:
        """How many of the runs behind these points end with an accuracy near that of guessing."""
        ends = self.collected.values("accuracy")
        served = self._served(points).items()
        return sum(ends.get(name, 1.0) < self._limit(run) for name, run in served)

    def _served(self, points: Points) -> dict[str, RunSpec]:
        """The runs but for points of what the clients hold, which no training changes."""
        read = ((point, reading(str(point["metric"])).metric) for point in points)
        trained = [point for point, column in read if column.partition("/")[0] not in HELD]
        return {cell.run_id: cell.run for point in trained for cell in self.cells(point)}

    def _limit(self, run: RunSpec) -> float:
        guess = self.collected.guess_of(run.dataset)
        return guess.limit if guess else 0.0

    def too_late(self, point: Coords) -> bool:
        """Whether the metric asks for rounds that the runs do not have."""
        needs = reading(str(point["metric"])).needs
        return any(cell.run.rounds < needs for cell in self.cells(point))

    def values(self, point: Coords) -> Repeats:
        """One value per repeat; a repeat without a value is left out."""
        metric, cells = str(point["metric"]), self.cells(point)
        name = reading(metric).metric
        column: Mapping[str, float | None] = {}
        if "/" in name:
            column = {cell.run_id: self._of_table(cell.run_id, name, point) for cell in cells}
        elif not self.too_late(point):
            column = self.collected.values(metric)
        asked, lost = reading(metric), self.collected.diverged
        having = [x for x in cells if not lost(x.run_id) or measures(x.run, asked)]
        found = {self._repeat(cell): column.get(cell.run_id) for cell in having}
        factor = 100.0 if Metric(metric).is_score else 1.0
        return {repeat: value * factor for repeat, value in found.items() if value is not None}

    def _of_table(self, run: str, name: str, point: Coords) -> float | None:
        """The mean of 'probe/column' over the rows of the probe's table that match the point."""
        probe, _, column = name.partition("/")
        table = self._table(run, probe)
        for other in point.keys() - self._axes.keys() - {"metric"}:
            table = table[table[other] == point[other]] if other in table else table[:0]
        return float(table[column].mean()) if column in table and len(table) else None

    def history(self, point: Coords) -> dict[str, pd.Series]:
        """Per repeat, the metric by evaluated round, up to the last planned round."""
        metric = reading(str(point["metric"])).metric
        factor = 100.0 if Metric(metric).is_score else 1.0
        found: dict[str, pd.Series] = {}
        for cell in self.cells(point) if metric in self.collected.frame else ():
            if cell.run_id in self.collected.states:
                of_run = self._histories.get_group((cell.run_id,))
                curve = collected_frames.curves(of_run, metric, [cell.run])[cell.run_id].dropna()
                found |= {self._repeat(cell): curve * factor} if len(curve) else {}
        return found

    def _key(self, coords: Coords) -> str:
        return str([coords[axis] for axis in self._axes if axis not in self._over])

    def _repeat(self, cell: Cell) -> str:
        return str([cell.seed, *(cell.coords[axis] for axis in self._over)])


class PrintedNumbers:
    """What the paper prints in a table, or in all tables of a grid, by point; the first wins."""

    def __init__(self, paper: Paper, printed: Printed, table: str, grid: str) -> None:
        self._stats: dict[str, Stat] = {}
        for key, shown in reversed(paper.tables.items()):
            if shown.minus or (key != table if table else shown.grid != grid):
                continue
            there = [p for p in points(paper.grids[shown.grid]) if matches(p, shown.where)]
            for metric, point in product(shown.metrics, there):
                if stat := printed.numbers.get(place_of(key, paper, point, metric)):
                    factor = Metric(metric).points(shown)
                    where = {axis: x for axis, x in point.items() if axis not in shown.over}
                    std = None if stat.std is None else stat.std * factor
                    at = where | {"metric": spelled(metric, shown.at)}
                    self._stats[_key(at)] = Stat(stat.mean * factor, std)

    def values(self, point: Coords) -> Repeats:
        """The printed value, as the only repeat; nothing if there is none."""
        stat = self._stats.get(_key(point))
        return {"printed": stat.mean} if stat else {}

    def history(self, point: Coords) -> dict[str, pd.Series]:
        """Nothing: papers print no curves as numbers."""
        return {}

    def spread(self, point: Coords) -> float | None:
        """The printed standard deviation; None if none is printed."""
        stat = self._stats.get(_key(point))
        return stat.std if stat else None


Numbers = MeasuredNumbers | PrintedNumbers


def _key(point: Coords) -> str:
    return str(sorted(point.items()))
