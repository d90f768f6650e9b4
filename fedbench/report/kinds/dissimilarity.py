"""How much the clients' gradients differ, by the strength λ of ASD."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
import seaborn as sns

from fedbench.report.figures.panels import Axes, Entries, Kind, Line2D, Panel, metric_label
from fedbench.report.figures.style import BLUE, RED, Style, stroke
from fedbench.report.values.numbers import axis_name

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
    """Model, scaling, and G_d by λ."""
    table = panel.table("dissimilarity")
    if table.empty:
        return
    kinds = table["model"].where(table["model"] == "mean", "single")
    for (model, weights), rows in table.groupby([kinds, "weights"]):
        yield str(model), str(weights), rows.groupby("lam")["dissimilarity"].mean()


def _look(model: str, weights: str) -> dict[str, Any]:
    look = Style(_COLOURS[model], _LINES[weights], "o" if model == "mean" else "s")
    return stroke(look) | {"linewidth": 1.6, "markersize": 3.5}
