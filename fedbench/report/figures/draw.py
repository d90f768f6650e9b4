"""Draws a figure, and writes it as SVG for pages that may be dark."""

import re
import textwrap
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from fedbench.plan.workflow import DRAWN
from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.layout import FigureLayout, fill
from fedbench.report.figures.legend import explain
from fedbench.report.figures.look import INK, PAPER, write
from fedbench.report.figures.readout import readout
from fedbench.report.values.numbers import UNTESTED

_LETTER = 0.078  # inches that a letter of a title takes


def save(drawing: Drawing, folder: Path) -> tuple[list[Path], list[dict[str, Any]]]:
    """Write `<key>.svg`, `<key>.png` and `<key>.pdf`; the same drawing gives the same bytes.

    Returns the files, and what a page's script tells of the curves in them.
    """
    files = (folder / f"{drawing.key}.{ending}" for ending in DRAWN)
    told: list[dict[str, Any]] = []

    def drawn() -> Figure:
        figure = draw(drawing)
        told.extend(readout(drawing, figure))
        return figure

    return write(drawn, *files), told


def inline(svg: str, key: str) -> str:
    """The SVG for an HTML page: text and axes in the page's colour, ids that no other SVG has."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", body)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", body)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace(INK, "currentColor").replace(PAPER, "none")


def draw(drawing: Drawing) -> Figure:
    """The whole figure: title, panels, legend, and the mark of a figure that is not tested."""
    full = [panel for panel in drawing.panels if drawing.kind.has(panel)]
    figure = drawing.kind.whole(full, drawing.title) if full else None
    figure = figure or _framed(drawing)
    if drawing.substituted:
        width, height = figure.get_size_inches()
        place = {"x": 1 - 0.06 / width, "y": 1 - 0.04 / height, "ha": "right", "va": "top"}
        figure.text(s=UNTESTED, fontsize=7.5, style="italic", alpha=0.75, **place)
    return figure


def wrapped(title: str, width: float) -> list[str]:
    """The title in lines of at most `width` inches; 'α = 0.1' is not broken."""
    return textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), max(12, int(width / _LETTER)))


def _framed(drawing: Drawing) -> Figure:
    """Panels under a title and above a legend."""
    panels = FigureLayout.of(drawing)
    title = wrapped(drawing.title, panels.width - _room(bool(drawing.substituted)))
    below = explain(drawing, panels.width)
    above = 0.08 + 0.17 * len(title)
    height = panels.height + above + below.height
    layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - above / height))
    figure = Figure(figsize=(panels.width, height), layout=layout)
    FigureCanvasAgg(figure)
    fill(drawing, figure.subplots(panels.rows, panels.columns, squeeze=False), panels)
    below.place(figure)
    place = {"x": 0.06 / panels.width, "y": 1 - 0.04 / height, "ha": "left", "va": "top"}
    figure.suptitle("\n".join(title), fontsize=9.5, weight="bold", **place)
    layout.execute(figure)
    if _broken_labels(figure):
        layout.execute(figure)
    figure.set_layout_engine(None)  # laid out once, for all files
    return figure


def _broken_labels(figure: Figure) -> bool:
    """Break labels that are longer than their axes are high into lines; whether there was any."""
    labels = [(axes.yaxis.label, axes.bbox.height) for axes in figure.axes if axes.axison]
    long = [(x, high / x.get_window_extent().height) for x, high in labels if x.get_text()]
    for label, share in long:
        if share < 1:
            label.set_text(textwrap.fill(label.get_text(), int(share * len(label.get_text()))))
    return any(share < 1 for _, share in long)


def _room(noted: bool) -> float:
    """Inches that stay free beside the title."""
    return 1.5 if noted else 0.1
