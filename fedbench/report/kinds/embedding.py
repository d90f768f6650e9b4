"""The features of test samples, mapped to a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes

from fedbench.base.checked import Count
from fedbench.report.figures import classes
from fedbench.report.figures.kind import Kind
from fedbench.report.figures.panel import Panel

_MODELS = {"Global model": "global", "A client's model": "local"}


@dataclass(frozen=True)
class Embedding(Kind):
    """Points by class, of the global and of a local model (FedGKD paper, Fig. 2).

    The points are those of the probe `embedding`, one run per panel, at most `points` of each
    model.
    """

    reads: ClassVar[str] = "embedding"
    apart: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (2.4, 2.4)

    points: Count = 1000

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The two models."""
        return tuple(_MODELS)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """The points by class and the model's accuracy; the axes of such a map have no unit."""
        hue, model = panel.hues[0], _MODELS[panel.part]
        table = hue.first(self.reads)
        shown = table[table["model"] == model].iloc[: self.points]
        classes.scatter(axes, shown, ("x", "y"), s=7, alpha=0.65, linewidths=0)
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
        if "accuracy" in shown:
            text = f"test accuracy {100 * shown['accuracy'].iloc[0]:.1f} %"
            axes.text(0.5, -0.03, text, transform=axes.transAxes, ha="center", va="top", fontsize=8)

    def legend(self, panels: Sequence[Panel]) -> list[tuple[Artist, str]] | None:
        """The classes, where they are few enough."""
        tables = [panel.table(self.reads) for panel in panels]
        return classes.legend(tables, markersize=4.5, markeredgewidth=0)
