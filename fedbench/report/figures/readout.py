"""What a page's script tells of curves: each line's values, and where the panel lies in the SVG."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.kind import panel_id
from fedbench.report.figures.legend import remarked
from fedbench.report.figures.panel import Hue, Panel

_POINTS, _DIGITS = 100, 4  # of a line: points at most, significant digits


@dataclass(frozen=True)
class LineReadout:
    """A line: its points, the ids of what is drawn for it, and what the legend says of it."""

    label: str
    said: str
    colour: str
    ids: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class PanelReadout:
    """A panel: left, top, right and bottom in points of the SVG, and the ends of its x axis."""

    title: str
    axis: str
    box: tuple[float, ...]
    x: tuple[float, float]
    lines: tuple[LineReadout, ...]


def readout(drawing: Drawing, figure: Figure) -> list[dict[str, Any]]:
    """The panels with curves, of a figure that has been laid out."""
    placed = {str(axes.get_gid()): axes for axes in figure.axes}
    panels, said = [], remarked(drawing)
    for i, panel in enumerate(drawing.panels):
        axes = placed.get(panel_id(i))
        lines = _lines(drawing, i, panel, said) if axes else ()
        if axes and lines:
            width, height = (72 * inches for inches in figure.get_size_inches())
            at = axes.get_position()
            box = (at.x0 * width, (1 - at.y1) * height, at.x1 * width, (1 - at.y0) * height)
            ends = (float(axes.get_xlim()[0]), float(axes.get_xlim()[1]))
            axis, rounded = drawing.kind.along, tuple(round(x, 1) for x in box)
            panels.append(asdict(PanelReadout(panel.title, axis, rounded, ends, lines)))
    return panels


def _lines(drawing: Drawing, i: int, panel: Panel, said: dict[str, str]) -> tuple[LineReadout, ...]:
    name = f"{drawing.key}-{panel_id(i)}"
    return tuple(
        _line(f"{name}-{n}", hue, curve, said[hue.label])
        for n, hue, curve in drawing.kind.curves_of(panel)
    )


def _line(name: str, hue: Hue, curve: pd.Series, said: str) -> LineReadout:
    n = len(curve)
    rows = (
        range(n) if n <= _POINTS else [round(j * (n - 1) / (_POINTS - 1)) for j in range(_POINTS)]
    )
    x = tuple(_short(float(curve.index[j])) or 0.0 for j in rows)
    y = tuple(_short(float(curve.iloc[j])) for j in rows)
    return LineReadout(hue.label, said, hue.style.colour, (name, f"{name}-band"), x, y)


def _short(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if isfinite(value) else None
