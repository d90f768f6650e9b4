"""A plane map of the models' features of the test set."""

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
    """The probe `embedding`'s points by class, of the global and of a local model, one run a panel.

    At most `points` of each model are drawn (FedGKD paper, Fig. 2).
    """

    reads: ClassVar[str] = "embedding"
    apart: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (2.4, 2.4)

    points: Count = 1000

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The two models."""
        return tuple(_MODELS)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """A scatter of the classes, and the model's accuracy; a plane map's axes have no unit."""
        hue, model = panel.hues[0], _MODELS[panel.part]
        table = hue.first(self.reads)
        own = table[table["model"] == model].iloc[: self.points]
        classes.scatter(axes, own, ("x", "y"), s=7, alpha=0.65, linewidths=0)
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
        if "accuracy" in own:
            text = f"test accuracy {100 * own['accuracy'].iloc[0]:.1f} %"
            axes.text(0.5, -0.03, text, transform=axes.transAxes, ha="center", va="top", fontsize=8)

    def legend(self, panels: Sequence[Panel]) -> list[tuple[Artist, str]] | None:
        """The classes, where they are few."""
        tables = [panel.table(self.reads) for panel in panels]
        return classes.legend(tables, markersize=4.5, markeredgewidth=0)
