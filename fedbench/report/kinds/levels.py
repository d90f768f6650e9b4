"""A metric over the levels of an axis of numbers, such as the share of clients."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import seaborn as sns

from fedbench.base.errors import FedbenchError
from fedbench.paper.notation import level_text
from fedbench.report.figures.panels import Axes, Hue, Kind, Panel, metric_label
from fedbench.report.figures.style import stroke
from fedbench.report.values.numbers import axis_title


@dataclass(frozen=True)
class Levels(Kind):
    """One line per hue over the levels of `axis`, which must be numbers; `log`: a logarithmic axis.

    Points are means over the seeds, bars one sample standard deviation on either side.
    """

    shared: ClassVar[bool] = True

    axis: str = "participation"
    log: bool = False

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per hue; a level of which a run has no finite number breaks it."""
        levels = self._levels(panel)
        if self.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        for hue in panel.hues:
            if hue.measured and len(hue.readings):
                self._line(axes, hue)
        axes.set_xticks(levels, [level_text(level) for level in levels])
        axes.set_xlabel(axis_title(self.axis))
        axes.set_ylabel(metric_label(panel.metric))

    def _line(self, axes: Axes, hue: Hue) -> None:
        rows = hue.readings
        known = np.isfinite(rows["value"]).groupby(rows[self.axis]).transform("all")
        sns.pointplot(
            rows.assign(value=rows["value"].where(known)), x=self.axis, y="value", errorbar="sd",
            native_scale=True, capsize=0.08, err_kws={"linewidth": 1.6}, linewidth=1.6, ax=axes,
            **stroke(hue.style),
        )  # fmt: skip

    def _levels(self, panel: Panel) -> list[float]:
        levels = {cell.coords[self.axis] for hue in panel.hues for cell in hue.cells}
        for level in levels:
            if isinstance(level, str | bool):
                raise FedbenchError(
                    f"figure kind levels: axis '{self.axis}' has the level '{level_text(level)}'; "
                    "all its levels must be numbers"
                )
        return sorted(float(level) for level in levels)
