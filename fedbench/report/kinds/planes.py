"""Points of classes in a plane: features of test samples, what models predict around them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Count
from fedbench.report.figures.panels import Axes, Entries, Hue, Kind, Line2D, Panel
from fedbench.report.figures.style import INK, style

_MODELS = {"Global model": "global", "A client's model": "local"}
_MOST = 20  # classes that a legend has room for


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
        scatter(axes, shown, ("x", "y"), s=7, alpha=0.65, linewidth=0)
        axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
        axes.grid(visible=False)
        if "accuracy" in shown:
            text = f"test accuracy {100 * shown['accuracy'].iloc[0]:.1f} %"
            axes.text(0.5, -0.03, text, transform=axes.transAxes, ha="center", va="top", fontsize=8)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The points of the first seed."""
        return hue.first(self.reads)

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The classes, where they are few enough."""
        tables = [panel.table(self.reads) for panel in panels]
        return of_classes(tables, markersize=4.5, markeredgewidth=0)


def scatter(axes: Axes, points: pd.DataFrame, at: tuple[str, str], **look: Any) -> None:
    """Draw the points of a table with a column `label`, each class in its own style.

    A class at a time: an SVG then says a style once for all points of a class.
    """
    for label, own in points.groupby(points["label"].astype(int)):
        mark = style(int(label))
        where = {"x": at[0], "y": at[1], "ax": axes, "legend": False}
        sns.scatterplot(own, color=mark.colour, marker=mark.marker, **where, **look)


def of_classes(tables: Iterable[pd.DataFrame], **look: Any) -> Entries:
    """One entry per class; no entry where there are more than a legend has room for."""
    seen = [table["label"].astype(int).tolist() for table in tables if len(table)]
    labels = sorted({label for labels in seen for label in labels})
    marks = [(label, style(label)) for label in labels if len(labels) <= _MOST]
    return [
        (Line2D([], [], linestyle="", color=m.colour, marker=m.marker, **look), f"class {label}")
        for label, m in marks
    ]


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
