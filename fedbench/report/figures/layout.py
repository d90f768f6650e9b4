"""Draws a figure: its title, its panels in rows and columns, its legend."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from fedbench.paper.metrics import Metric
from fedbench.report.figures.drawing import Drawing, explain
from fedbench.report.figures.panels import Axes, Figure, Panel, panel_id
from fedbench.report.values.numbers import UNTESTED

_WIDEST = 9.0  # inches that a page shows without shrinking the letters too far
_LETTER, _NAME = 0.078, 0.064  # inches that a letter of a title takes, and of a line's name
_ROW, _FOOT = 0.165, 0.68  # inches of a line in a list, and of what stands below the list


@dataclass(frozen=True)
class FigureLayout:
    """Rows × columns of axes, each `size` inches wide and high."""

    rows: int
    columns: int
    size: tuple[float, float]
    parts: int  # how many plots each panel is divided into

    @property
    def width(self) -> float:
        """Inches."""
        return self.columns * self.size[0]

    @classmethod
    def of(cls, drawing: Drawing) -> "FigureLayout":
        """Panels × parts, the longer of the two from left to right if that is not too wide."""
        panels, parts = len(drawing.panels), len(drawing.parts)
        size = drawing.kind.alone if panels * parts == 1 else drawing.kind.size
        if parts > 1:
            rows, columns = sorted((panels, parts))
            if columns * size[0] > _WIDEST:
                rows, columns = columns, rows
            return cls(rows, columns, size, parts)
        # up to three side by side, four as a square, more than nine in rows of four
        usual = 2 if panels == 4 else min(panels, 4 if panels > 9 else 3)
        columns = drawing.across or usual
        return cls(-(-panels // columns), columns, size, parts)

    def place(self, panel: int, part: int) -> tuple[int, int]:
        """Row and column of a panel's part."""
        if self.parts == 1:
            return divmod(panel, self.columns)
        return (panel, part) if self.parts == self.columns else (part, panel)


def draw(drawing: Drawing) -> Figure:
    """The whole figure: title, panels, legend, and the mark of a figure that is not tested."""
    full = [panel for panel in drawing.panels if drawing.kind.has(panel)]
    figure = drawing.kind.whole(full, drawing.title) if full else None
    figure = figure or _framed(drawing)
    if drawing.substituted:
        remark(figure, UNTESTED)
    return figure


def _framed(drawing: Drawing) -> Figure:
    panels = FigureLayout.of(drawing)
    title = wrapped(drawing.title, panels.width - (1.5 if drawing.substituted else 0.1))
    below = explain(drawing, panels.width)
    height = panels.rows * panels.size[1] + above(title) + below.height
    figure = blank(panels.width, height)
    layout = under(title, height)
    figure.set_layout_engine(layout)
    _fill(drawing, figure.subplots(panels.rows, panels.columns, squeeze=False), panels)
    below.place(figure)
    entitle(figure, title)
    layout.execute(figure)
    if _broken_labels(figure):
        layout.execute(figure)
    figure.set_layout_engine(None)  # laid out once, for all files
    return figure


def _fill(drawing: Drawing, axes: NDArray[Any], layout: FigureLayout) -> None:
    drawn = set()
    for i, panel in enumerate(drawing.panels):
        for j, part in enumerate(drawing.parts):
            where = layout.place(i, j)
            drawn.add(where)
            if j == 0:
                axes[where].set_gid(panel_id(i))
            _fill_one(drawing, axes[where], replace(panel, part=part))
    _share(drawing, axes, layout)
    for where, one in np.ndenumerate(axes):
        below = (where[0] + 1, where[1])
        if where not in drawn:
            one.axis("off")
        elif below in drawn and one.get_xlabel() == axes[below].get_xlabel():
            one.set_xlabel("")
        if where[1] and one.get_ylabel() == axes[where[0], 0].get_ylabel():
            one.set_ylabel("")


def _fill_one(drawing: Drawing, axes: Axes, panel: Panel) -> None:
    absence = "" if drawing.kind.has(panel) else drawing.kind.absence(panel)
    if not absence:
        drawing.kind.draw(axes, panel)
        if panel.lost and not np.isfinite(axes.dataLim.get_points()).all():
            absence = "all runs diverged"  # nothing was drawn: the numbers at the axes mean nothing
    if absence:
        axes.text(0.5, 0.5, absence, transform=axes.transAxes, ha="center", alpha=0.6)
        axes.set(xticks=[], yticks=[])
    title = ": ".join(filter(None, [panel.title, panel.part]))
    if title:
        axes.set_title(title, fontsize=8.5, loc="left")


def _share(drawing: Drawing, axes: NDArray[Any], layout: FigureLayout) -> None:
    """Give the panels of a metric and a data set one range, for a score at least one point wide."""
    if not drawing.kind.shared:
        return
    groups: dict[tuple[str, str], list[Axes]] = {}
    for i, panel in enumerate(drawing.panels):
        if drawing.kind.has(panel):
            data = {cell.coords.get("dataset") for hue in panel.hues for cell in hue.cells}
            groups.setdefault((panel.metric, str(data)), []).append(axes[layout.place(i, 0)])
    for (metric, _), group in groups.items():
        low, high = min(a.get_ylim()[0] for a in group), max(a.get_ylim()[1] for a in group)
        least = 1.0 if Metric(metric).is_score else 0.0
        spare = max(0.0, least - (high - low)) / 2
        for one in group:
            one.set_ylim(low - spare, high + spare)


def _broken_labels(figure: Figure) -> bool:
    """Break labels that are longer than their axes are high into lines; whether there was any."""
    labels = [(axes.yaxis.label, axes.bbox.height) for axes in figure.axes if axes.axison]
    long = [(x, high / x.get_window_extent().height) for x, high in labels if x.get_text()]
    for label, share in long:
        if share < 1:
            label.set_text(textwrap.fill(label.get_text(), int(share * len(label.get_text()))))
    return any(share < 1 for _, share in long)


def blank(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, in which letters can be measured."""
    figure = Figure((width, height))
    FigureCanvasAgg(figure)
    return figure


def listed(
    title: str, names: Sequence[Sequence[str]], width: float, free: float
) -> tuple[Figure, list[Axes]]:
    """A figure with a line for each name: axes side by side, one per list of names.

    Each has `width` inches with its names; `free` inches beside the title stay free.
    """
    wide = width * len(names)
    lines = wrapped(title, wide - free)
    high = _ROW * max(map(len, names))
    tall = 0.4 + 0.17 * len(lines) + high + _FOOT
    figure = blank(wide, tall)
    entitle(figure, lines)
    left = 0.2 + _NAME * max(len(name) for each in names for name in each)
    sides = [(i * width + left, width - left - 0.15) for i in range(len(names))]
    boxes = [(x / wide, _FOOT / tall, across / wide, high / tall) for x, across in sides]
    return figure, [figure.add_axes(box) for box in boxes]


def name_lines(axes: Axes, names: Sequence[str]) -> None:
    """Write the names at the left, the first on top, each at a thin line."""
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.set(ylim=(len(names) - 0.4, -0.6), ylabel="")
    axes.grid(visible=True, axis="y")


def wrapped(title: str, width: float) -> list[str]:
    """The title in lines of at most `width` inches; 'α = 0.1' is not broken."""
    return textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), max(12, int(width / _LETTER)))


def above(lines: Sequence[str]) -> float:
    """Inches that a title of so many lines takes."""
    return 0.08 + 0.17 * len(lines)


def under(lines: Sequence[str], height: float) -> ConstrainedLayoutEngine:
    """Lays out all axes of a figure of that height under its title."""
    return ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - above(lines) / height))


def entitle(figure: Figure, lines: Sequence[str], left: float = 0.06) -> None:
    """Write the title's lines at the top, `left` inches from the edge."""
    width, height = figure.get_size_inches()
    place = {"x": left / width, "y": 1 - 0.04 / height, "ha": "left", "va": "top"}
    figure.suptitle("\n".join(lines), fontsize=9.5, weight="bold", **place)


def remark(figure: Figure, text: str) -> None:
    """Write a remark in the upper right corner."""
    width, height = figure.get_size_inches()
    place = {"x": 1 - 0.06 / width, "y": 1 - 0.04 / height, "ha": "right", "va": "top"}
    figure.text(s=text, fontsize=7.5, style="italic", alpha=0.75, **place)
