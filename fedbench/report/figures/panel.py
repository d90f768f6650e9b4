"""What one panel is drawn from: runs by hue, with their histories and tables."""

from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from fedbench.paper.places import Level
from fedbench.plan.plan import Cell
from fedbench.report.figures.styles import Style
from fedbench.report.values import frames
from fedbench.report.values.frames import Results
from fedbench.report.values.metrics import Metric


@dataclass(frozen=True, eq=False)
class Hue:
    """One level of the hue in one panel: its look, its metric and its cells, a seed each or more.

    Scores are in percent.
    """

    label: str
    style: Style
    metric: str
    cells: tuple[Cell, ...]
    results: Results

    @cached_property
    def found(self) -> tuple[Cell, ...]:
        """The cells whose runs were measured."""
        return tuple(cell for cell in self.cells if cell.run.id in self.results.states)

    @cached_property
    def planned(self) -> set[str]:
        """The runs that the plan has."""
        return {cell.run.id for cell in self.cells}

    @property
    def diverged(self) -> set[str]:
        """The runs that ended early."""
        states = self.results.states
        return {c.run.id for c in self.found if states[c.run.id].startswith("diverged")}

    @property
    def factor(self) -> float:
        """From the frame's unit to the figure's."""
        return 100.0 if Metric(self.metric).is_score else 1.0

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The metric at evaluated rounds × runs found; a diverged run keeps its last value."""
        runs = [cell.run for cell in self.cells]
        return frames.curves(self.results.frame, self.metric, runs) * self.factor

    @cached_property
    def readings(self) -> pd.DataFrame:
        """One row a cell found: coordinates, seed, run and `value`, the metric at its moment."""
        known = frames.values(self.results.frame, self.metric, "final")
        rows = [
            {**c.coords, "seed": c.seed, "run": c.run.id, "value": known[c.run.id] * self.factor}
            for c in self.found
            if c.run.id in known
        ]
        return pd.DataFrame(rows, columns=None if rows else ["seed", "run", "value"])

    def table(self, name: str) -> pd.DataFrame:
        """The runs' tables of that name below each other, with `hue` and `seed` in front."""
        found = [
            self.results.table(cell.run.id, name).assign(hue=self.label, seed=cell.seed)
            for cell in self.found
        ]
        full = [table for table in found if len(table)]
        return pd.concat(full, ignore_index=True) if full else pd.DataFrame()

    def first(self, name: str) -> pd.DataFrame:
        """The table of the first run that has it: where several seeds cannot be averaged."""
        found = self.table(name)
        return found if found.empty else found[found["seed"] == found["seed"].iloc[0]]


@dataclass(frozen=True, eq=False)
class Panel:
    """One axes: `coords` are the levels it stands for, `part` one of the kind's own divisions."""

    coords: dict[str, Level]
    title: str
    metric: str
    hues: tuple[Hue, ...]
    part: str = field(default="")

    @cached_property
    def found(self) -> bool:
        """Whether any run was measured."""
        return any(hue.found for hue in self.hues)

    def table(self, name: str) -> pd.DataFrame:
        """The tables of all hues below each other."""
        found = [table for hue in self.hues if len(table := hue.table(name))]
        return pd.concat(found, ignore_index=True) if found else pd.DataFrame()
