"""A panel of a figure: the runs that it shows, by hue, and the kinds that draw it."""

from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fedbench.base.checks import Checked
from fedbench.paper.metrics import Metric
from fedbench.paper.yaml_notation import Level
from fedbench.plan.plan import Cell
from fedbench.report.figures.style import Style
from fedbench.report.values import collected_frames
from fedbench.spec.compositions import own_methods

__all__ = ["Axes", "Entries", "Figure", "Hue", "Kind", "Line2D", "Panel", "Patch"]
Entries = list[tuple[Artist, str]]  # of a legend: what stands for something, and its name


@dataclass(frozen=True, eq=False)
class Hue:
    """One level of the hue in one panel: its style, metric and cells; scores are in percent."""

    label: str
    style: Style
    metric: str
    cells: tuple[Cell, ...] = field(repr=False)  # one per seed, and per level of axes in `over`
    collected: collected_frames.Collected = field(repr=False)

    @cached_property
    def measured(self) -> tuple[Cell, ...]:
        """The cells whose runs were measured."""
        return tuple(cell for cell in self.cells if cell.run_id in self.collected.states)

    @cached_property
    def planned(self) -> set[str]:
        """The ids of the planned runs."""
        return {cell.run_id for cell in self.cells}

    @property
    def is_own(self) -> bool:
        """Whether its method comes from a plug-in folder, by its name or by a part."""
        used = (name for cell in self.cells for name in cell.run.plugins())
        return self.label in own_methods() or any(name.startswith("method ") for name in used)

    @property
    def whole(self) -> bool:
        """Whether every planned run has a value."""
        return self.planned <= {*self.readings["run"]}

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
        return collected_frames.curves(self.collected.frame, column, [c.run for c in self.cells])

    @property
    def near(self) -> float | None:
        """Below this a value may be that of guessing; None of what does not score labels."""
        limit = collected_frames.mean_limit(
            (cell.run for cell in self.cells), self.collected.guess_of
        )
        return limit * self.factor if limit and Metric(self.metric).is_of_labels else None

    @cached_property
    def readings(self) -> pd.DataFrame:
        """One row per measured cell: levels, seed, run and `value`, the metric at its moment."""
        values = self.collected.values(self.metric)
        rows = [
            {**c.coords, "seed": c.seed, "run": c.run_id, "value": values[c.run_id] * self.factor}
            for c in self.measured
            if c.run_id in values
        ]
        return pd.DataFrame(rows, columns=None if rows else ["seed", "run", "value"])

    def table(self, name: str) -> pd.DataFrame:
        """The runs' tables of that name below each other, with `hue` and `seed` in front."""
        return stacked(
            self.collected.table(cell.run_id, name).assign(hue=self.label, seed=cell.seed)
            for cell in self.measured
        )

    def first(self, name: str) -> pd.DataFrame:
        """The table of the first run that has it, for what cannot be averaged over seeds."""
        ones = (replace(self, cells=(cell,)).table(name) for cell in self.measured)
        return next((table for table in ones if len(table)), pd.DataFrame())


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel of a figure: the levels `coords` that it stands for, and the hues in it."""

    coords: dict[str, Level]
    title: str
    metric: str
    hues: tuple[Hue, ...]
    part: str = ""  # the title of one of the axes that some kinds of figures divide a panel into

    @cached_property
    def measured(self) -> bool:
        """Whether any run was measured."""
        return any(hue.measured for hue in self.hues)

    @property
    def lost(self) -> bool:
        """Whether every run that was measured diverged."""
        return all(len(hue.diverged) == len({c.run_id for c in hue.measured}) for hue in self.hues)

    @property
    def block(self) -> list[str]:
        """What pairs the runs of hues: the axes with several levels within a hue, and the seed."""
        of_hue = [[cell.coords for cell in hue.cells] for hue in self.hues]
        levels = {x: [len({str(at[x]) for at in each}) for each in of_hue] for x in of_hue[0][0]}
        return [*(axis for axis, numbers in levels.items() if max(numbers) > 1), "seed"]

    def table(self, name: str) -> pd.DataFrame:
        """The tables of all hues below each other."""
        return stacked(hue.table(name) for hue in self.hues)


def stacked(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The tables below each other; empty ones are left out."""
    full = [table for table in tables if len(table)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame()


class Kind(Checked, ABC):
    """A kind of figure: a class in `fedbench/report/kinds`, whose fields are its options.

    A kind overrides `draw`, which fills one panel, or `whole`, which draws all of the figure.
    A field `axis` names an axis of the grid, drawn along the bottom or as groups.
    """

    reads: ClassVar[str] = ""  # the table in a run's folder that it draws; empty: the history
    apart: ClassVar[bool] = False  # whether each level of the hue has a separate panel
    shared: ClassVar[bool] = False  # whether panels of one metric and data set share a range
    size: ClassVar[tuple[float, float]] = (2.75, 2.1)  # inches, of one panel among several
    alone: ClassVar[tuple[float, float]] = (4.2, 2.6)  # inches, of the only panel
    fill: ClassVar[float | None] = None  # how strongly areas are filled, see `filling`; None: lines
    note: ClassVar[str] = ""  # how to read it: a sentence at the end of every caption
    lack: ClassVar[str] = "no run is finished"  # why runs that are there leave nothing to draw

    def require(self, panel: Panel) -> None:
        """Refuse, before any training, a metric or levels that it cannot draw."""

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Draw the panel with the labels of both axes; it has something to show."""

    def curves_of(self, panel: Panel) -> Iterator[tuple[int, Hue, pd.Series]]:
        """Curves whose values a page tells: the hue's place, the hue, its values by x, named so.

        What is drawn for it has the id `<panel's id>-<place>`, its band the same and '-band'.
        """
        yield from ()

    def numbers(self, panels: Sequence[Panel]) -> pd.DataFrame:
        """The numbers behind these panels as rows; the first columns say whose they are."""
        owners = ["panel", "hue", "metric"]
        found = {(p.title, hue.label, hue.metric): self.rows(hue) for p in panels for hue in p.hues}
        found = {x: rows.drop(columns=owners, errors="ignore") for x, rows in found.items()}
        return pd.concat(found, names=owners).reset_index(owners) if found else pd.DataFrame()

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The numbers behind a hue: the runs' tables that the kind reads, or one value per run."""
        return hue.table(self.reads) if self.reads else hue.readings

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The whole figure, of panels that have something to show; None to draw each panel."""
        return None

    def has(self, panel: Panel) -> bool:
        """Whether there is anything to draw."""
        return not panel.table(self.reads).empty if self.reads else panel.measured

    def absence(self, panel: Panel) -> str:
        """What stands in a panel that has nothing to draw."""
        return self.lack if panel.measured else "no run is finished"

    def remark(self, panels: Sequence[Panel]) -> str:
        """A sentence on these runs, such as which are not drawn, at the end of the caption."""
        return ""

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """Titles of the parts that each panel is divided into, one row or column per part."""
        return ("",)

    @property
    def named(self) -> bool:
        """Whether the figure itself names each hue, so that the legend need not."""
        return self.apart

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The legend's entries where they are other than the hues."""
        return None


def metric_label(name: str) -> str:
    """A metric as the label of an axis, with its unit."""
    metric = Metric(name)
    if not metric.is_score:
        return metric.label
    label = metric.label[0].lower() + metric.label[1:]
    return f"{metric.label} (%)" if name.startswith("val_") else f"Test {label} (%)"
