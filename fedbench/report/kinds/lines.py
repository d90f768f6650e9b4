"""Lines of what probes wrote: densities of eigenvalues, how much gradients differ by λ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Positive
from fedbench.report.figures.panels import Axes, Entries, Kind, Line2D, Panel, metric_label
from fedbench.report.figures.style import BLUE, RED, Style, stroke
from fedbench.report.values.numbers import axis_name, power


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
        axes.yaxis.set_major_formatter(lambda value, _: power(value))
        axes.set_ylim(bottom=self.floor)
        axes.set_xlabel("Eigenvalue of the Hessian")
        axes.set_ylabel("Density")


def _mean(table: pd.DataFrame) -> "pd.Series[float]":
    """The mean density at the eigenvalues of all seeds, interpolated where a seed has none."""
    seeds = [rows.sort_values("eigenvalue") for _, rows in table.groupby("seed")]
    at = np.unique(np.concatenate([rows["eigenvalue"].to_numpy() for rows in seeds]))
    each = [np.interp(at, rows["eigenvalue"], rows["density"], left=0, right=0) for rows in seeds]
    return pd.Series(np.mean(each, axis=0), index=at, dtype=float)


_COLOURS = {"mean": BLUE, "single": RED}
_LINES = {"normalised": "-", "unnormalised": "--", "none": ":"}


@dataclass(frozen=True)
class Dissimilarity(Kind):
    """G_d(w, λ) over λ at the same w, from the probe `dissimilarity` (ASD paper, Proposition 3.4).

    One line per scaling of ASD's weights, at the mean of the cohort's models, and one at the
    single models that the probe takes, averaged over these; all are means over the seeds.
    """

    reads: ClassVar[str] = "dissimilarity"

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per model and scaling."""
        for model, weights, line in _lines(panel):
            sns.lineplot(line, estimator=None, ax=axes, **_look(model, weights))
        axes.set_xlabel(axis_name("lam"))
        axes.set_ylabel(metric_label("dissimilarity"))

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The models with their scalings."""
        shown = {(model, weights): None for p in panels for model, weights, _ in _lines(p)}
        return [
            (Line2D([], [], **_look(model, weights)), f"{_name(model, panels)}, {weights}")
            for model, weights in shown
        ]


def _name(model: str, panels: Sequence[Panel]) -> str:
    """'mean of the models', '2 single models, mean'."""
    if model == "mean":
        return "mean of the models"
    tables = [table for panel in panels if len(table := panel.table("dissimilarity"))]
    single = (table[table["model"] != "mean"] for table in tables)
    number = max(int(table.groupby("seed")["model"].nunique().max()) for table in single)
    return "single model" if number == 1 else f"{number} single models, mean"


def _lines(panel: Panel) -> Iterator[tuple[str, str, "pd.Series[Any]"]]:
    table = panel.table("dissimilarity")
    if table.empty:
        return
    kinds = table["model"].where(table["model"] == "mean", "single")
    for (model, weights), rows in table.groupby([kinds, "weights"]):
        yield str(model), str(weights), rows.groupby("lam")["dissimilarity"].mean()


def _look(model: str, weights: str) -> dict[str, Any]:
    look = Style(_COLOURS[model], _LINES[weights], "o" if model == "mean" else "s")
    return stroke(look) | {"linewidth": 1.6, "markersize": 3.5}
