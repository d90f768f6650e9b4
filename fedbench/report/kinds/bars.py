"""One bar per hue."""

import textwrap
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from fedbench.paper.places import Level
from fedbench.report.figures.kind import Kind, filling, metric_label
from fedbench.report.figures.look import INK
from fedbench.report.figures.panel import Hue, Panel
from fedbench.report.values.numbers import fixed, point_name

_NARROW = 0.2  # of a group's width: the number above a narrower bar is turned upright


@dataclass(frozen=True)
class Bars(Kind):
    """A metric as bars with the spread over the seeds; `axis` makes one group of bars per level.

    With `hue: metric` there is one bar per metric (FedADC paper, Fig. 7). The thin line is one
    sample standard deviation on either side, the number the mean.
    """

    alone: ClassVar[tuple[float, float]] = (4.2, 2.7)

    axis: str = ""

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Groups of bars that start at zero."""
        groups = self._groups(panel)
        width = 0.82 / len(panel.hues)
        for i, hue in enumerate(panel.hues):
            shift = (i - (len(panel.hues) - 1) / 2) * width
            for j, group in enumerate(groups):
                self._bar(axes, hue, self._values(hue, group), (j + shift, width))
        if self.axis:
            axes.set_xticks(range(len(groups)), [point_name(self.axis, g) for g in groups])
        else:
            self._name(axes, panel)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.18)
        axes.set_ylabel(_label(panel))

    @property
    def named(self) -> bool:
        """Whether bars are named below them: where there are no groups."""
        return not self.axis

    def handle(self, hue: Hue) -> Artist:
        """A filled rectangle."""
        return Patch(**filling(hue.style, 0.4 if hue.style.hollow else 1.0))

    def _name(self, axes: Axes, panel: Panel) -> None:
        """Write each bar's name below it."""
        count = len(panel.hues)
        at = [(i - (count - 1) / 2) * 0.82 / count for i in range(count)]
        names = [textwrap.fill(hue.label, 14) for hue in panel.hues]
        axes.set_xticks(at, names, fontsize=7)

    def _groups(self, panel: Panel) -> list[Level]:
        if not self.axis:
            return [""]
        return list(dict.fromkeys(c.coords[self.axis] for hue in panel.hues for c in hue.cells))

    def _values(self, hue: Hue, group: Level) -> "pd.Series[Any]":
        rows = hue.readings
        of_group = rows[rows[self.axis] == group] if self.axis and len(rows) else rows
        return of_group["value"]

    def _bar(
        self, axes: Axes, hue: Hue, values: "pd.Series[Any]", place: tuple[float, float]
    ) -> None:
        at, width = place
        if values.empty:
            return
        mean, std = (float(f(skipna=False)) for f in (values.mean, values.std))
        axes.bar(at, mean, width * 0.92, **filling(hue.style, 0.4 if hue.style.hollow else 1.0))
        if np.isfinite(std):
            axes.errorbar(at, mean, std, color=INK, linewidth=0.9, capsize=2)
        top = mean + (std if np.isfinite(std) else 0) if np.isfinite(mean) else 0
        text = fixed(mean, 1 if hue.factor == 100 else 2)
        turned: Any = {"rotation": 90 if width < _NARROW else 0, "fontsize": 7.5}
        axes.annotate(text, (at, top), (0, 3), textcoords="offset points", ha="center", **turned)


def _label(panel: Panel) -> str:
    """The metrics' common name and unit; the legend names each of them."""
    labels = dict.fromkeys(metric_label(hue.metric) for hue in panel.hues)
    if len(labels) == 1:
        return next(iter(labels))
    return "Test accuracy (%)" if all(text.endswith("(%)") for text in labels) else "Value"
