"""The base class of all kinds of figures, and how their lines and bars are drawn."""

from abc import ABC
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedbench.base.checked import Checked
from fedbench.paper.metrics import Metric
from fedbench.report.figures.look import INK
from fedbench.report.figures.panel import Hue, Panel
from fedbench.report.figures.styles import Style


class Kind(Checked, ABC):
    """A kind of figure: one file in `fedbench/report/kinds`, whose fields are its options.

    A kind overrides `draw`, which fills one panel, or `whole`, which draws all of the figure.
    A field `axis` names an axis of the grid, drawn along the bottom or as groups.
    """

    reads: ClassVar[str] = ""  # the table in a run's folder that it draws; empty: the history
    apart: ClassVar[bool] = False  # whether each level of the hue has a separate panel
    shared: ClassVar[bool] = False  # whether panels of one metric and data set share a range
    size: ClassVar[tuple[float, float]] = (2.75, 2.1)  # inches, of one panel among several
    alone: ClassVar[tuple[float, float]] = (4.2, 2.6)  # inches, of the only panel
    note: ClassVar[str] = ""  # how to read it: a sentence at the end of every caption
    lack: ClassVar[str] = "no run is finished"  # why runs that are there leave nothing to draw

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Draw the panel with the labels of both axes; it has something to show."""

    def curves_of(self, panel: Panel) -> Iterator[tuple[int, Hue, pd.Series]]:
        """Curves whose values a page tells: the hue's place, the hue, and its values by x.

        What is drawn for it has the id `<panel's id>-<place>`, its band the same and '-band'.
        """
        yield from ()

    def numbers(self, panels: Sequence[Panel]) -> pd.DataFrame:
        """What these panels say beyond the runs' own values, as rows; empty if nothing."""
        return pd.DataFrame()

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

    def handle(self, hue: Hue) -> Artist:
        """What stands for a hue in the legend."""
        return Line2D([], [], linewidth=1.6, **stroke(hue))

    @property
    def along(self) -> str:
        """What the x of `curves_of` counts, in a word."""
        return "x"

    @property
    def named(self) -> bool:
        """Whether the figure itself names each hue, so that the legend need not."""
        return self.apart

    def legend(self, panels: Sequence[Panel]) -> list[tuple[Artist, str]] | None:
        """The legend's entries where they are other than the hues."""
        return None


def panel_id(place: int) -> str:
    """The id of a panel in the SVG."""
    return f"panel-{place}"


def stroke(hue: Hue) -> dict[str, Any]:
    """The options of matplotlib for a line of that hue."""
    style = hue.style
    return {
        "color": style.colour,
        "linestyle": style.line,
        "marker": style.marker,
        "markersize": 5,
        "markerfacecolor": style.face,
    }


def filling(style: Style, strength: float = 1.0) -> dict[str, Any]:
    """How a bar or box is filled.

    `strength` mixes its colour with white: a transparent colour would hide the hatching in an SVG.
    """
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(style.colour))
    return {
        "facecolor": to_hex((red, green, blue)),
        "edgecolor": INK,
        "hatch": style.hatch,
        "linewidth": 0.6,
    }


def metric_label(name: str) -> str:
    """A metric as the label of an axis, with its unit."""
    metric = Metric(name)
    if not metric.is_score:
        return metric.label
    return f"{metric.label} (%)" if name.startswith("val_") else f"Test {metric.label.lower()} (%)"
