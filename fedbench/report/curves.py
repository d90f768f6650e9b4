"""A paper's figure as lines: mean and spread over the seeds at every evaluated round."""

from dataclasses import dataclass

import pandas as pd

from fedbench.paper import Figure, Level
from fedbench.plan import Cell, Plan
from fedbench.report import frames
from fedbench.report.metrics import Metric
from fedbench.report.numbers import level_name, point_name
from fedbench.report.styles import Style, styles
from fedbench.report.tables import require_points


@dataclass(frozen=True)
class Line:
    """One level of the hue; `std` is not finite where fewer than two seeds are known."""

    label: str
    style: Style
    mean: pd.Series
    std: pd.Series
    planned: int
    found: int
    diverged: int

    @property
    def legend(self) -> str:
        """The label, with the seeds that are missing or diverged."""
        lacking = f"{self.found} of {self.planned} seeds" if self.found < self.planned else ""
        ended = f"{self.diverged} diverged" if self.diverged else ""
        remarks = ", ".join(text for text in (lacking, ended) if text)
        return f"{self.label} ({remarks})" if remarks else self.label


@dataclass(frozen=True)
class Drawing:
    """All that a figure shows."""

    key: str
    title: str
    subtitle: str
    caption: str
    unit: str
    lines: tuple[Line, ...]
    substituted: str


def drawing(plan: Plan, at: tuple[str, str], frame: pd.DataFrame) -> Drawing:
    """The figure `at` (paper, figure)."""
    paper = plan.papers[at[0]]
    figure = paper.figures[at[1]]
    require_points(f"{at[0]}: figures.{at[1]}", paper, figure.grid, figure.where, (figure.hue,))
    cells = plan.select(at[0], figure.grid, figure.where)
    levels = [level_name(figure.hue, level) for level in _levels(plan, at)]
    looks = styles(levels)
    lines = tuple(_line(figure, look, label, cells, frame) for label, look in looks.items())
    notes = dict.fromkeys(cell.substituted for cell in cells if cell.substituted)
    drawn = tuple(line for line in lines if line.planned)
    return Drawing(
        at[1],
        figure.title,
        _subtitle(figure),
        figure.caption,
        _unit(figure),
        drawn,
        " / ".join(notes),
    )


def _levels(plan: Plan, at: tuple[str, str]) -> list[Level]:
    """All levels that the paper has for this hue, so that a look does not depend on the figure."""
    paper = plan.papers[at[0]]
    hue = paper.figures[at[1]].hue
    own = [level for level in paper.levels.get(hue, {}) if level != "each"]
    return own + [level for grid in paper.grids.values() for level in grid.axes.get(hue, ())]


def _line(figure: Figure, look: Style, label: str, cells: list[Cell], frame: pd.DataFrame) -> Line:
    own = [cell.run for cell in cells if level_name(figure.hue, cell.coords[figure.hue]) == label]
    table = frames.curves(frame, figure.metric, own) if own else pd.DataFrame()
    table = table * (100 if Metric(figure.metric).is_score else 1)
    states = frames.states(frame)
    diverged = sum(states[run].startswith("diverged") for run in table.columns)
    return Line(
        label,
        look,
        table.mean(axis=1),
        table.std(axis=1, ddof=1),
        len(own),
        table.shape[1],
        diverged,
    )


def _unit(figure: Figure) -> str:
    metric = Metric(figure.metric)
    return f"Test {metric.label.lower()} (%)" if metric.is_score else metric.label


def _subtitle(figure: Figure) -> str:
    fixed = {axis: at for axis, at in figure.where.items() if axis != figure.hue}
    return ", ".join(
        point_name(axis, at[0] if isinstance(at, tuple) else at) for axis, at in fixed.items()
    )
