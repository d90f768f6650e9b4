"""The base of all kinds of figures: how one panel is drawn."""

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedbench.base.checked import Checked
from fedbench.report.figures.look import INK
from fedbench.report.figures.panel import Hue, Panel
from fedbench.report.figures.styles import Style
from fedbench.report.values.metrics import Metric


class Kind(Checked, ABC):
    """A way to draw; one file in `fedbench/report/kinds`, whose fields are its options.

    It overrides `draw`, or `whole` where it has a page of its own.
    A field `axis` names an axis of the grid that lies along the bottom or in groups.
    """

    reads: ClassVar[str] = ""  # the table of a run's folder that it draws; empty: the history
    apart: ClassVar[bool] = False  # whether each level of the hue has axes of its own
    shared: ClassVar[bool] = False  # whether panels of a metric and a data set share a range
    size: ClassVar[tuple[float, float]] = (2.75, 2.1)  # inches, of one axes among several
    alone: ClassVar[tuple[float, float]] = (4.2, 2.6)  # inches, of the only one
    note: ClassVar[str] = ""  # how to read it: a sentence that ends every caption

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Draw the panel, labels of both axes included; it has something to show."""

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The whole figure of the panels that have something to show, at least one."""
        return None

    def has(self, panel: Panel) -> bool:
        """Whether there is anything to draw."""
        return not panel.table(self.reads).empty if self.reads else panel.found

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """Titles of the axes that each panel is divided into: a row or a column each."""
        return ("",)

    def handle(self, hue: Hue) -> Artist:
        """What stands for a hue in the legend."""
        return Line2D([], [], linewidth=1.6, **stroke(hue))

    @property
    def named(self) -> bool:
        """Whether each hue's name is written at what it draws."""
        return self.apart

    def legend(self, panels: Sequence[Panel]) -> list[tuple[Artist, str]] | None:
        """The legend's entries where they are not the hues."""
        return None


def stroke(hue: Hue) -> dict[str, Any]:
    """How a line of that hue is drawn."""
    look = hue.style
    return {
        "color": look.colour,
        "linestyle": look.line,
        "marker": look.marker,
        "markersize": 5,
        "markerfacecolor": look.face,
    }


def filling(style: Style, strength: float = 1.0) -> dict[str, Any]:
    """How a bar or box is filled: opaque, as a see-through face swallows the hatch of an SVG."""
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
