"""Draws a figure: its title, its panels in rows and columns, its legend."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from fedbench.paper.metrics import Metric
from fedbench.report.figures.drawing import Drawing, entries
from fedbench.report.figures.panels import Axes, Figure, Panel
from fedbench.report.values.numbers import UNTESTED

_WIDEST = 9.0  # inches that a page shows without shrinking the letters too far
_LETTER, _NAME = 0.078, 0.064  # inches that a letter of a title takes, and of a line's name
_ENTRY, _HANDLE, _LINE = 0.068, 0.9, 0.19  # inches: a letter of the legend, handle and gaps, a line
_ROW, _FOOT = 0.165, 0.68  # inches of a line in a list, and of what stands below the list
TIP = " tip "  # in an id, before what a page says of it under the pointer; others have no spaces


def draw(drawing: Drawing) -> Figure:
    """The whole figure: title, panels, legend, and the mark of a figure that is not tested."""
    full = [panel for panel in drawing.panels if drawing.kind.has(panel)]
    figure = drawing.kind.whole(full, drawing.title) if full else None
    figure = figure or _framed(drawing)
    if drawing.substituted:
        remark(figure, UNTESTED)
    return figure


def _framed(drawing: Drawing) -> Figure:
    placed, columns, size = _placed(drawing)
    rows, width = -(-len(placed) // columns), columns * size[0]
    title = wrapped(drawing.title, width - (1.5 if drawing.substituted else 0.1))
    legend = entries(drawing)
    longest = max((len(text) for _, text in legend), default=0)
    lines = -(-len(legend) // max(1, int(width / (longest * _ENTRY + _HANDLE))))
    height = rows * size[1] + above(title) + lines * _LINE
    figure = Figure((width, height))
    layout = under(title, height)
    figure.set_layout_engine(layout)
    _fill(drawing, figure.subplots(rows, columns, squeeze=False), placed)
    if legend:
        look: dict[str, Any] = {"handlelength": 4.4, "columnspacing": 1.4, "borderaxespad": 0.2}
        look |= {"loc": "outside lower left", "ncols": -(-len(legend) // lines)}
        figure.legend(*map(list, zip(*legend, strict=True)), **look)
    entitle(figure, title)
    layout.execute(figure)
    if _broken_labels(figure):
        layout.execute(figure)
    figure.set_layout_engine(None)  # laid out once, for all files
    return figure


def _placed(drawing: Drawing) -> tuple[list[Panel], int, tuple[float, float]]:
    """The parts of all panels in reading order, how many stand in a row, and inches of each."""
    panels, parts = drawing.panels, drawing.kind.parts(drawing.panels)
    placed = [replace(panel, part=part) for panel in panels for part in parts]
    size = drawing.kind.alone if len(placed) == 1 else drawing.kind.size
    if len(parts) == 1:
        # up to three side by side, four as a square, more than nine in rows of four
        usual = 2 if len(panels) == 4 else min(len(panels), 4 if len(panels) > 9 else 3)
        return placed, drawing.across or usual, size
    # the longer of panels and parts goes from left to right if that is not too wide
    short, long = sorted((len(panels), len(parts)))
    columns = long if long * size[0] <= _WIDEST else short
    if columns != len(parts):
        placed = [replace(panel, part=part) for part in parts for panel in panels]
    return placed, columns, size


def _fill(drawing: Drawing, axes: NDArray[Any], placed: Sequence[Panel]) -> None:
    shown = list(zip(axes.flat, placed, strict=False))
    first = [one for one, panel in shown if panel.part == placed[0].part]
    for i, one in enumerate(first):
        one.set_gid(f"panel-{i}")
    for one, panel in shown:
        _fill_one(drawing, one, panel)
    _share(drawing, first)
    columns = axes.shape[1]
    for n, one in enumerate(axes.flat):
        below, leftmost = n + columns, n - n % columns
        if n >= len(placed):
            one.axis("off")
        elif below < len(placed) and one.get_xlabel() == axes.flat[below].get_xlabel():
            one.set_xlabel("")
        if n > leftmost and one.get_ylabel() == axes.flat[leftmost].get_ylabel():
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
    if title := ": ".join(filter(None, [panel.title, panel.part])):
        axes.set_title(title, fontsize=8.5, loc="left")


def _share(drawing: Drawing, axes: Sequence[Axes]) -> None:
    """Give the panels of a metric and a data set one range, for a score at least one point wide."""
    if not drawing.kind.shared:
        return
    groups: dict[tuple[str, frozenset[object]], list[Axes]] = {}
    for panel, one in zip(drawing.panels, axes, strict=True):
        if drawing.kind.has(panel):
            data = frozenset(c.coords.get("dataset") for hue in panel.hues for c in hue.cells)
            groups.setdefault((panel.metric, data), []).append(one)
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


def listed(
    title: str, names: Sequence[Sequence[str]], width: float, free: float
) -> tuple[Figure, list[Axes]]:
    """Axes of `width` inches side by side, a line per name; `free` inches beside the title."""
    wide = width * len(names)
    lines = wrapped(title, wide - free)
    high = _ROW * max(map(len, names))
    tall = 0.4 + 0.17 * len(lines) + high + _FOOT
    figure = Figure((wide, tall))
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
