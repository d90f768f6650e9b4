"""A metric against a number that the grid varies."""

from dataclasses import dataclass
from typing import ClassVar

from matplotlib.axes import Axes

from fedbench.base.errors import FedbenchError
from fedbench.paper.places import level_text
from fedbench.report.figures.kind import Kind, metric_label, stroke
from fedbench.report.figures.panel import Hue, Panel
from fedbench.report.values.numbers import axis_title


@dataclass(frozen=True)
class Levels(Kind):
    """One line a hue over the levels of `axis`, which must be numbers; `log` spreads small ones.

    Mean and, as a bar, one sample standard deviation over the seeds.
    """

    shared: ClassVar[bool] = True

    axis: str = "participation"
    log: bool = False

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line a hue."""
        for hue in panel.hues:
            if hue.found and len(hue.readings):
                self._line(axes, hue)
        if self.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        levels = self._levels(panel)
        axes.set_xticks(levels, [level_text(level) for level in levels])
        axes.set_xlabel(axis_title(self.axis))
        axes.set_ylabel(metric_label(panel.metric))

    def _line(self, axes: Axes, hue: Hue) -> None:
        groups = hue.readings.groupby(self.axis)["value"]
        mean, std = groups.mean(), groups.std(ddof=1)
        axes.errorbar(mean.index, mean, std, linewidth=1.6, capsize=2.5, **stroke(hue))

    def _levels(self, panel: Panel) -> list[float]:
        found = {cell.coords[self.axis] for hue in panel.hues for cell in hue.cells}
        for level in found:
            if isinstance(level, str):
                raise FedbenchError(
                    f"figure kind levels: axis '{self.axis}' has the level '{level}'; "
                    "all its levels must be numbers"
                )
        return sorted(float(level) for level in found)
