"""One bar per hue."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from fedbench.paper.notation import Level
from fedbench.report.figures.panels import Artist, Axes, Hue, Kind, Panel, Patch, metric_label
from fedbench.report.figures.style import INK, bars, filling
from fedbench.report.values.numbers import fixed, point_name

_WIDTH = 0.82  # of a group, where neighbours are 1 apart
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
        cells, count = [cell for hue in panel.hues for cell in hue.cells], len(panel.hues)
        groups = list(dict.fromkeys(c.coords[self.axis] if self.axis else "" for c in cells))
        values = {
            (i, j): x for i, hue in enumerate(panel.hues) for j, x in self._values(hue, groups)
        }
        finite = {at: of for at, of in values.items() if np.isfinite(of).all()}  # others: no mean
        rows = [(panel.hues[i].label, j, x) for (i, j), of in finite.items() for x in of]
        bars(
            axes, pd.DataFrame(rows, columns=["hue", "group", "value"]), ("group", "value"),
            {hue.label: filling(hue.style) for hue in panel.hues}, order=range(len(groups)),
            width=_WIDTH, gap=0.08, errorbar="sd", capsize=0.15,
            err_kws={"color": INK, "linewidth": 0.9},
        )  # fmt: skip
        places = [(i - (count - 1) / 2) * _WIDTH / count for i in range(count)]
        for (i, j), of in values.items():
            _write(axes, j + places[i], of, panel.hues[i], narrow=_WIDTH / count < _NARROW)
        if self.axis:
            axes.set_xticks(range(len(groups)), [point_name(self.axis, g) for g in groups])
        else:
            names = [textwrap.fill(hue.label, 14) for hue in panel.hues]
            axes.set_xticks(places, names, fontsize=7)
        axes.margins(y=0.18)
        axes.set(xlabel="", ylabel=_label(panel))

    @property
    def named(self) -> bool:
        """Whether bars are named below them: where there are no groups."""
        return not self.axis

    def handle(self, hue: Hue) -> Artist:
        """A filled rectangle."""
        return Patch(**filling(hue.style))

    def _values(self, hue: Hue, groups: list[Level]) -> Iterator[tuple[int, "pd.Series[float]"]]:
        """The values of each group that has some, with the group's place."""
        rows = hue.readings
        for place, group in enumerate(groups):
            of = rows[rows[self.axis] == group] if self.axis and len(rows) else rows
            if len(of):
                yield place, of["value"]


def _write(axes: Axes, at: float, values: "pd.Series[float]", hue: Hue, *, narrow: bool) -> None:
    """Write the mean above its bar, or why there is none."""
    mean, std = (float(f(skipna=False)) for f in (values.mean, values.std))
    top = mean + (std if np.isfinite(std) else 0) if np.isfinite(mean) else 0
    text = fixed(mean, 1 if hue.factor == 100 else 2)
    look: dict[str, Any] = {"rotation": 90 if narrow else 0, "ha": "center", "fontsize": 7.5}
    axes.annotate(text, (at, top), (0, 3), textcoords="offset points", **look)


def _label(panel: Panel) -> str:
    """The metrics' common name and unit; the legend names each of them."""
    labels = dict.fromkeys(metric_label(hue.metric) for hue in panel.hues)
    if len(labels) == 1:
        return next(iter(labels))
    return "Test accuracy (%)" if all(text.endswith("(%)") for text in labels) else "Value"
