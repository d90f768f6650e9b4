"""Drawing a figure, and its SVG for a page that may be dark."""

import re
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fedbench.report.curves import Drawing, Line
from fedbench.report.look import INK, PAPER, write
from fedbench.report.numbers import UNTESTED


def save(drawing: Drawing, folder: Path) -> list[Path]:
    """Write `<key>.svg` and `<key>.png`; the same drawing gives the same bytes."""
    files = (folder / f"{drawing.key}.{ending}" for ending in ("svg", "png"))
    return write(lambda: _draw(drawing), *files)


def inline(svg: str, key: str) -> str:
    """The SVG for an HTML page: its text and axes in the page's colour, its ids its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", body)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", body)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace(INK, "currentColor").replace(PAPER, "none")


def _draw(drawing: Drawing) -> Figure:
    figure = Figure(figsize=(4.2, 2.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for line in drawing.lines:
        _draw_line(axes, line)
    axes.set_xlabel("Communication round")
    axes.set_ylabel(drawing.unit)
    axes.margins(x=0.015)
    title = ", ".join(filter(None, [drawing.title, drawing.subtitle]))
    axes.set_title(title, fontsize=9.5, loc="left", weight="bold")
    if drawing.substituted:
        axes.set_title(UNTESTED, fontsize=7.5, loc="right", style="italic", alpha=0.75)
    if any(line.found for line in drawing.lines):
        axes.legend(handlelength=3.2, loc="best")
    else:
        axes.text(0.5, 0.5, "no run yet", transform=axes.transAxes, ha="center", alpha=0.6)
        axes.set(xticks=[], yticks=[])
    return figure


def _draw_line(axes: Axes, line: Line) -> None:
    if not line.found:
        axes.plot([], [], color=line.style.colour, label=line.legend)
        return
    rounds, every = line.mean.index.to_numpy(), max(1, len(line.mean) // 8)
    low, high = line.mean - line.std, line.mean + line.std
    axes.fill_between(rounds, low, high, color=line.style.colour, alpha=0.16, linewidth=0)
    axes.plot(
        rounds, line.mean, color=line.style.colour, linestyle=line.style.line, linewidth=1.6,
        marker=line.style.marker, markersize=4, markevery=every, label=line.legend,
    )  # fmt: skip
