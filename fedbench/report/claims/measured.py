"""The numbers that a claim compares: a base class for their sources, and those of finished runs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from fedbench.paper import moments
from fedbench.paper.columns import HELD
from fedbench.paper.metrics import Metric
from fedbench.paper.places import Level, reading
from fedbench.plan.plan import Cell, Plan
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.values.searched import near_chance
from fedbench.spec import RunSpec

Coords = dict[str, Level]  # a point of the grid, with its metric as one more axis
Repeats = dict[str, float]  # one value per seed, or per seed and levels of other axes


class Numbers(ABC):
    """Numbers at the points of a grid; scores are in percent."""

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
        at: tuple[str, str],
        over: tuple[str, ...],
        collected: Collected,
        *,
        kept: bool = True,
    ) -> None:
        self._axes, self._over, self._collected = (
            plan.asked[at[0]].grids[at[1]].axes,
            over,
            collected,
        )
        self._searches, self.kept = plan.searches, kept
        self._cells: dict[str, list[Cell]] = {}
        for cell in plan.select(*at, {}) if kept else ():
            self._cells.setdefault(self._key(cell.coords), []).append(cell)
        self._values: dict[str, Repeats] = {}
        self._columns: dict[str, dict[str, float]] = {}
        self._tables: dict[tuple[str, str], pd.DataFrame] = {}

    def cells(self, point: Coords) -> list[Cell]:
        """The cells planned at a point, one per repeat."""
        return self._cells.get(self._key(point), [])

    def read_at(self, point: Coords) -> set[tuple[str, str]]:
        """What is read at a point: ids of runs, each with the levels that are no axis' of the grid.

        Those are the metric, and places in a probe's table.
        """
        place = str(sorted((k, v) for k, v in point.items() if k not in self._axes))
        return {(cell.run_id, place) for cell in self.cells(point)}

    def diverged(self, points: Iterable[Coords]) -> int:
        """How many of the runs behind these points ended early."""
        ids = {cell.run_id for point in points for cell in self.cells(point)}
        return sum(self._collected.states.get(run, "").startswith("diverged") for run in ids)

    def near_chance(self, points: Sequence[Coords]) -> str:
        """Why what is compared at these points is chance as much as the methods; empty if not.

        Nothing of it is chance where it is what the clients hold.
        """
        if self._chosen_near_chance(points):
            return "settings chosen by trials near chance"
        return "all compared accuracies are near chance" if self._only_guesses(points) else ""

    def _chosen_near_chance(self, points: Iterable[Coords]) -> bool:
        """Whether settings of a run behind these were chosen by trials that learned nothing."""
        cells = (
            cell
            for point in points
            if not _is_held(point)
            for cell in self.cells(point)
            if cell.run_id in self._searches
        )
        return any(self._is_near_chance(cell) for cell in cells)

    def _is_near_chance(self, cell: Cell) -> bool:
        found = self._collected.winner(self._searches[cell.run_id], cell.run)
        guess_of, trained = self._collected.guess_of, self.collected(cell.run_id)
        return near_chance(found, cell.run, guess_of, trained)

    def at_chance(self, points: Iterable[Coords]) -> int:
        """How many of the runs behind these points end with an accuracy near that of guessing.

        It does not matter to what the clients hold.
        """
        learned = [point for point in points if not _is_held(point)]
        run_of = {cell.run_id: cell.run for point in learned for cell in self.cells(point)}
        limits = {run_id: self._limit(run) for run_id, run in run_of.items()}
        return sum(self._ends.get(run, 1.0) < limit for run, limit in limits.items())

    def _limit(self, run: RunSpec) -> float:
        """The accuracy below which a run may only guess; 0 where that is unknown."""
        guess = self._collected.guess_of(run.dataset)
        return guess.limit if guess else 0.0

    def _only_guesses(self, points: Sequence[Coords]) -> bool:
        """Whether all that is compared are accuracies, and each is near that of guessing.

        That two methods are equal while neither has learned says nothing about them.
        """
        planned = [point for point in points if self.cells(point)]
        values = {n: self.values(point).values() for n, point in enumerate(planned)}
        near = {n: self._near(point) for n, point in enumerate(planned)}
        compared = [value < near[n] for n, of_point in values.items() for value in of_point]
        scores = (Metric(str(point["metric"])).is_of_labels for point in points)
        return bool(compared) and all(compared) and all(scores)

    def _near(self, point: Coords) -> float:
        """Below this value, in percent, an accuracy at a point is near that of guessing."""
        return 100 * self._limit(self.cells(point)[0].run)

    @cached_property
    def _ends(self) -> dict[str, float]:
        """The accuracy after the last round by run."""
        frame = self._collected.frame
        return moments.values(frame, "accuracy", "final") if "accuracy" in frame else {}

    def complete(self, points: Iterable[Coords]) -> bool:
        """Whether all runs behind these points have been collected."""
        ids = {cell.run_id for point in points for cell in self.cells(point)}
        return ids <= self._collected.states.keys()

    def collected(self, run_id: str) -> bool:
        """Whether the run is finished."""
        return run_id in self._collected.states

    def too_late(self, point: Coords) -> bool:
        """Whether the metric asks for rounds that the runs do not have."""
        asked = reading(str(point["metric"]))
        runs = [cell.run for cell in self.cells(point)]
        return any(run.rounds < asked.needs for run in runs)

    def values(self, point: Coords) -> Repeats:
        """One value per run; a run that ends before the rounds asked for has none."""
        key = str(sorted(point.items()))
        if key not in self._values:
            read = {self._repeat(cell): self._value(cell, point) for cell in self.cells(point)}
            factor = _factor(str(point["metric"]))
            self._values[key] = {k: v * factor for k, v in read.items() if v is not None}
        return self._values[key]

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
        if self.too_late(point):
            return None
        if metric not in self._columns:
            self._columns[metric] = moments.values(self._collected.frame, metric, "final")
        return self._columns[metric].get(cell.run_id)

    def _of_table(self, run: str, name: str, point: Coords) -> float | None:
        """The mean of 'probe/column' over the rows of the probe's table that match the point."""
        probe, _, column = name.partition("/")
        if (run, probe) not in self._tables:
            self._tables[run, probe] = self._collected.table(run, probe)
        table = self._tables[run, probe]
        for other in point.keys() - self._axes.keys() - {"metric"}:
            table = table[table[other] == point[other]] if other in table else table[:0]
        return float(table[column].mean()) if column in table and len(table) else None

    def _curve(self, run: RunSpec, metric: str) -> pd.Series:
        if metric not in self._collected.frame or run.id not in self._collected.states:
            return pd.Series(dtype=float)
        curve: pd.Series = frames.curves(self._histories.get_group((run.id,)), metric, [run])[
            run.id
        ]
        return curve.dropna()

    @cached_property
    def _histories(self) -> Any:
        return self._collected.frame.groupby(["run_id"])

    def _key(self, coords: Coords) -> str:
        return str([coords[axis] for axis in self._axes if axis not in self._over])

    def _repeat(self, cell: Cell) -> str:
        return str([cell.seed, *(cell.coords[axis] for axis in self._over)])


def _is_held(point: Coords) -> bool:
    """Whether what is compared is what the clients hold, which no training changes."""
    return reading(str(point["metric"])).metric.partition("/")[0] in HELD


def _factor(metric: str) -> float:
    """What a value of the frame is multiplied by: scores are fractions there, percent here."""
    return 100.0 if Metric(metric).is_score else 1.0
