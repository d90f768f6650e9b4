"""What one panel of a figure is drawn from: runs by hue, with their histories and tables."""

from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from fedbench.paper import moments
from fedbench.paper.metrics import Metric
from fedbench.paper.places import Level
from fedbench.plan.plan import Cell
from fedbench.report.figures.styles import Style
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected


@dataclass(frozen=True, eq=False)
class Hue:
    """One level of the hue in one panel: its style, its metric, and its cells.

    There is one cell per seed, or several where axes of the grid are averaged over. Scores are in
    percent.
    """

    label: str
    style: Style
    metric: str
    cells: tuple[Cell, ...] = field(repr=False)
    collected: Collected = field(repr=False)

    @cached_property
    def measured(self) -> tuple[Cell, ...]:
        """The cells whose runs were measured."""
        return tuple(cell for cell in self.cells if cell.run_id in self.collected.states)

    @cached_property
    def planned(self) -> set[str]:
        """The ids of the planned runs."""
        return {cell.run_id for cell in self.cells}

    @property
    def diverged(self) -> set[str]:
        """The ids of the runs that ended early."""
        return {cell.run_id for cell in self.measured if self.collected.diverged(cell.run_id)}

    @property
    def factor(self) -> float:
        """What a value of the frame is multiplied by: scores are fractions there, percent here."""
        return 100.0 if Metric(self.metric).is_score else 1.0

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The metric, evaluated rounds × runs; a diverged run keeps its last value."""
        return self.history(self.metric) * self.factor

    def history(self, column: str) -> pd.DataFrame:
        """A column of the history as it is collected, evaluated rounds × runs."""
        runs = [cell.run for cell in self.cells]
        return frames.curves(self.collected.frame, column, runs)

    def read(self, metric: str) -> dict[str, float]:
        """A metric of each collected run at its moment, in the units of the frame."""
        return moments.values(self.collected.frame, metric, "final")

    @cached_property
    def readings(self) -> pd.DataFrame:
        """One row per measured cell: levels, seed, run and `value`, the metric at its moment."""
        values = self.read(self.metric)
        rows = [
            {**c.coords, "seed": c.seed, "run": c.run_id, "value": values[c.run_id] * self.factor}
            for c in self.measured
            if c.run_id in values
        ]
        return pd.DataFrame(rows, columns=None if rows else ["seed", "run", "value"])

    def table(self, name: str) -> pd.DataFrame:
        """The runs' tables of that name below each other, with `hue` and `seed` in front."""
        tables = [
            self.collected.table(cell.run_id, name).assign(hue=self.label, seed=cell.seed)
            for cell in self.measured
        ]
        full = [table for table in tables if len(table)]
        return pd.concat(full, ignore_index=True) if full else pd.DataFrame()

    def first(self, name: str) -> pd.DataFrame:
        """The table of the first run that has it, for what cannot be averaged over seeds."""
        table = self.table(name)
        return table if table.empty else table[table["seed"] == table["seed"].iloc[0]]


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel of a figure: the levels `coords` that it stands for, and the hues in it.

    `part` is the title of one of the axes that some kinds of figures divide a panel into.
    """

    coords: dict[str, Level]
    title: str
    metric: str
    hues: tuple[Hue, ...]
    part: str = field(default="")

    @cached_property
    def measured(self) -> bool:
        """Whether any run was measured."""
        return any(hue.measured for hue in self.hues)

    @property
    def lost(self) -> bool:
        """Whether every run that was measured diverged."""
        return all(len(hue.diverged) == len({c.run_id for c in hue.measured}) for hue in self.hues)

    def table(self, name: str) -> pd.DataFrame:
        """The tables of all hues below each other."""
        full = [table for hue in self.hues if len(table := hue.table(name))]
        return pd.concat(full, ignore_index=True) if full else pd.DataFrame()
