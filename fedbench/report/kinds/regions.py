"""Which class each model predicts at each point of a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.report.figures.panels import Axes, Entries, Hue, Kind, Panel
from fedbench.report.figures.style import INK, style
from fedbench.report.kinds.embedding import of_classes, scatter


@dataclass(frozen=True)
class Regions(Kind):
    """Each model's predictions over the plane with its user's points (FedGKD paper, Fig. 5).

    The probe `regions` wrote them, one run per panel; the global model is shown with all users'
    points.
    """

    reads: ClassVar[str] = "regions"
    apart: ClassVar[bool] = True
    size: ClassVar[tuple[float, float]] = (2.0, 2.1)

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The models, those of the users first."""
        models = [m for p in panels if self.has(p) for m in p.table(self.reads)["model"].unique()]
        names = sorted(dict.fromkeys(models), key=lambda name: (name == "global", name))
        return tuple(name.capitalize() for name in names) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Predicted classes as coloured areas, points in the colour of their true class."""
        table = panel.hues[0].first(self.reads)
        model = panel.part.lower()
        shown = table if model == "global" else table[table["model"] == model]
        _areas(axes, table[(table["model"] == model) & (table["kind"] == "grid")])
        points = shown[shown["kind"] == "point"]
        scatter(axes, points, ("x1", "x2"), s=13, edgecolor=INK, linewidth=0.3)
        axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")
        axes.locator_params(nbins=4)
        axes.grid(visible=False)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The points, then the classes that each model predicts, by x₂ and in columns by x₁."""
        table = hue.first(self.reads)
        grid = table[table["kind"] == "grid"].assign(
            x1=lambda grid: grid["x1"].map("{:.4g}".format)
        )
        plane = grid.pivot_table(
            "predicted", index=["model", "x2"], columns="x1", sort=False
        ).reset_index()
        return pd.concat([table[table["kind"] == "point"], plane])

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The classes."""
        tables = [panel.table(self.reads) for panel in panels if self.has(panel)]
        points = [table[table["kind"] == "point"] for table in tables]
        return of_classes(points, markersize=5, markeredgecolor=INK, markeredgewidth=0.4)


def _areas(axes: Axes, grid: pd.DataFrame) -> None:
    plane = grid.pivot_table(index="x2", columns="x1", values="predicted").sort_index()
    colours = sns.color_palette([style(i).colour for i in range(int(grid["predicted"].max()) + 1)])
    axes.pcolormesh(
        plane.columns.to_numpy(), plane.index.to_numpy(),
        np.array(colours)[plane.to_numpy(dtype=int)], alpha=0.38,
        shading="nearest", rasterized=True, linewidth=0,
    )  # fmt: skip
