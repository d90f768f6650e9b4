"""What probes wrote of models: densities, dissimilarity, features and predictions in a plane."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Count, Positive
from fedbench.base.errors import FedbenchError
from fedbench.report.figures.panels import Axes, Entries, Hue, Kind, Line2D, Panel, metric_label
from fedbench.report.figures.style import BLUE, INK, RED, Style, stroke, style
from fedbench.report.values.numbers import axis_name

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Density(Kind):
    """The density that the probe `spectrum` wrote, on a logarithmic scale (ASD paper, Fig. 3).

    It is a mean over the seeds, whose eigenvalues may differ; densities below `floor` are cut off.
    """

    reads: ClassVar[str] = "spectrum"

    floor: Positive = 1e-5

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per hue."""
        for hue in panel.hues:
            table = hue.table(self.reads)
            if len(table):
                mean = _mean(table)
                marks = max(1, len(mean) // 9)
                look = {"linewidth": 1.3, "markevery": marks} | stroke(hue.style)
                sns.lineplot(mean, estimator=None, ax=axes, **look)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda x, _: "10" + str(round(log10(x))).translate(_RAISED))
        axes.set_ylim(bottom=self.floor)
        axes.set(xlabel="Eigenvalue of the Hessian", ylabel="Density")


def _mean(table: pd.DataFrame) -> "pd.Series[float]":
    """The mean density at the eigenvalues of all seeds, interpolated where a seed has none."""
    seeds = [rows.sort_values("eigenvalue") for _, rows in table.groupby("seed")]
    at = np.unique(np.concatenate([rows["eigenvalue"].to_numpy() for rows in seeds]))
    each = [np.interp(at, rows["eigenvalue"], rows["density"], left=0, right=0) for rows in seeds]
    return pd.Series(np.mean(each, axis=0), index=at, dtype=float)


_LINES = {"normalised": "-", "unnormalised": "--", "none": ":"}


@dataclass(frozen=True)
class Dissimilarity(Kind):
    """G_d(w, λ) over λ at the same w, from the probe `dissimilarity` (ASD paper, Proposition 3.4).

    One line per scaling of ASD's weights, at the mean of the cohort's models, and one at the
    single models that the probe takes, averaged over these; all are means over the seeds.
    """

    reads: ClassVar[str] = "dissimilarity"

    def require(self, panel: Panel) -> None:
        """Refuse several hues, whose numbers would become one line."""
        if len(names := [hue.label for hue in panel.hues]) > 1:
            shown = ", ".join(names)
            raise FedbenchError(f"figure kind dissimilarity: `where` must name one of {shown}")

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per model and scaling."""
        for _, look, line in _lines(panel):
            sns.lineplot(line, estimator=None, ax=axes, **look)
        axes.set(xlabel=axis_name("lam"), ylabel=metric_label("dissimilarity"))

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The models with their scalings."""
        looks = {name: look for panel in panels for name, look, _ in _lines(panel)}
        return [(Line2D([], [], **look), name) for name, look in looks.items()]


def _lines(panel: Panel) -> Iterator[tuple[str, dict[str, Any], "pd.Series[Any]"]]:
    """Each line with its name, such as '2 single models, mean, normalised', and how it looks."""
    table = panel.table("dissimilarity")
    if table.empty:
        return
    kinds = table["model"].where(table["model"] == "mean", "single")
    for (kind, weights), rows in table.groupby([kinds, "weights"]):
        models = int(rows.groupby("seed")["model"].nunique().max())
        single = "single model" if models == 1 else f"{models} single models, mean"
        is_mean = kind == "mean"
        mark = Style(BLUE if is_mean else RED, _LINES[str(weights)], "o" if is_mean else "s")
        look = stroke(mark) | {"linewidth": 1.6, "markersize": 3.5}
        name = f"{'mean of the models' if is_mean else single}, {weights}"
        yield name, look, rows.groupby("lam")["dissimilarity"].mean()


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
    """Draw the points of a table, each class (`label`) in its own style, which an SVG says once."""
    for label, own in points.groupby(points["label"].astype(int)):
        mark = style(int(label))
        where = {"x": at[0], "y": at[1], "ax": axes, "legend": False}
        sns.scatterplot(own, color=mark.colour, marker=mark.marker, **where, **look)


def of_classes(tables: Iterable[pd.DataFrame], **look: Any) -> Entries:
    """One entry per class; no entry where there are more than a legend has room for."""
    labels = sorted({int(label) for table in tables if len(table) for label in table["label"]})
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
        names = sorted({*models}, key=lambda name: (name == "global", len(name), name))
        return tuple(name.capitalize() for name in names) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Predicted classes as coloured areas, points in the colour of their true class."""
        table = panel.hues[0].first(self.reads)
        model = panel.part.lower()
        shown = table if model == "global" else table[table["model"] == model]
        grid = table[(table["model"] == model) & (table["kind"] == "grid")]
        plane = grid.pivot_table(index="x2", columns="x1", values="predicted").sort_index()
        classes = range(int(grid["predicted"].max()) + 1)
        colours = np.array(sns.color_palette([style(i).colour for i in classes]))
        axes.pcolormesh(
            plane.columns.to_numpy(), plane.index.to_numpy(), colours[plane.to_numpy(dtype=int)],
            alpha=0.38, shading="nearest", rasterized=True, linewidth=0,
        )  # fmt: skip
        points = shown[shown["kind"] == "point"]
        scatter(axes, points, ("x1", "x2"), s=13, edgecolor=INK, linewidth=0.3)
        axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")
        axes.locator_params(nbins=4)
        axes.grid(visible=False)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The points, then the classes that each model predicts, by x₂ and in columns by x₁."""
        table = hue.first(self.reads)
        grid = table[table["kind"] == "grid"]
        across = grid["x1"].map("{:.4g}".format)
        plane = grid.pivot_table("predicted", ["model", "x2"], across, sort=False).reset_index()
        return pd.concat([table[table["kind"] == "point"], plane])

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The classes."""
        tables = [panel.table(self.reads) for panel in panels if self.has(panel)]
        points = [table[table["kind"] == "point"] for table in tables]
        return of_classes(points, markersize=5, markeredgecolor=INK, markeredgewidth=0.4)
