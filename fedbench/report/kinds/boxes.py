"""Box plots of a column of a table that a probe wrote."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Natural
from fedbench.base.errors import FedbenchError
from fedbench.paper.metrics import column_label
from fedbench.report.figures.panels import Artist, Axes, Hue, Kind, Panel, Patch
from fedbench.report.figures.style import Style, filling, stroke


@dataclass(frozen=True)
class Boxes(Kind):
    """The spread of a table's `column`, one box per value of `by` (RMFL paper, Figs. 4 and 5).

    A box shows one value per client and round, or with `per: round` one per round, the mean over
    its clients: quartiles, whiskers to 1.5 times their distance, a mark at the mean. `most` is the
    largest number of boxes; where `by` has more values, neighbours share a box (0: no limit).
    """

    alone: ClassVar[tuple[float, float]] = (5.2, 2.6)
    note: ClassVar[str] = (
        "Boxes are the quartiles with a line at the median and a mark at the mean; whiskers reach "
        "to 1.5 times the quartiles' distance."
    )

    table: str = "steps"
    column: str = "cosine"
    by: str = "step"
    per: Literal["client", "round"] = "client"
    most: Natural = 0

    @property
    def reads(self) -> str:  # type: ignore[override]  # an option chooses it
        """The table that the option names."""
        return self.table

    def draw(self, axes: Axes, panel: Panel) -> None:
        """The boxes of the hues side by side."""
        tables = {hue: self._values(hue.table(self.table)) for hue in panel.hues}
        full = {hue: values for hue, values in tables.items() if len(values)}
        colours = {hue.label: filling(hue.style, 0.25)["facecolor"] for hue in full}
        rows = [values.assign(hue=hue.label) for hue, values in full.items()]
        sns.boxplot(
            pd.concat(rows, ignore_index=True), x="at", y="value", hue="hue", palette=colours,
            saturation=1, native_scale=True, width=0.8, gap=0.15, showfliers=False, showmeans=True,
            legend=False, ax=axes,
        )  # fmt: skip
        for boxes, hue in zip(axes.containers, full, strict=True):
            _style(boxes, hue.style)
        axes.set_xlabel(column_label(self.table, self.by))
        axes.set_ylabel(column_label(self.table, self.column))
        axes.locator_params(axis="x", nbins=8, integer=True)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The number of values, mean, deviation, range and quartiles of each box."""
        values = self._values(hue.table(self.table))
        return values.groupby("at")["value"].describe().reset_index() if len(values) else values

    def handle(self, hue: Hue) -> Artist:
        """A filled rectangle."""
        return Patch(**filling(hue.style, 0.25))

    def _values(self, table: pd.DataFrame) -> pd.DataFrame:
        """Columns `at` and `value`; without rows of step −1, which are about a whole round."""
        if table.empty:
            return table
        for name in (self.column, self.by):
            if name not in table:
                raise FedbenchError(
                    f"figure kind boxes: table '{self.table}' has no column '{name}'; "
                    f"it has {', '.join(table.columns)}"
                )
        rows = table.dropna(subset=[self.column]).query(f"{self.by} >= 0")
        if self.per == "round":
            keys = list(dict.fromkeys(["seed", "round", self.by]))
            rows = rows.groupby(keys)[self.column].mean().reset_index()
        return pd.DataFrame({"at": self._joined(rows[self.by]), "value": rows[self.column]})

    def _joined(self, at: "pd.Series[Any]") -> "pd.Series[Any]":
        """The values of `by`; where they are too many, each the mean of its group of neighbours."""
        distinct = np.sort(at.unique())
        if not self.most or len(distinct) <= self.most:
            return at
        groups = np.array_split(distinct, self.most)
        middle = {value: group.mean() for group in groups for value in group}
        return at.map(middle)


def _style(boxes: Any, style: Style) -> None:
    """Give one hue's boxes its colour, its hatching and its marker at the mean."""
    parts: tuple[tuple[str, dict[str, Any]], ...] = (
        ("boxes", filling(style, 0.25)),
        ("whiskers", {"color": style.colour, "linewidth": 0.9}),
        ("caps", {"color": style.colour, "linewidth": 0.9}),
        ("medians", {"color": style.colour, "linewidth": 1.6}),
        ("means", stroke(style) | {"linestyle": "", "markersize": 2.6}),
    )
    for name, look in parts:
        for artist in getattr(boxes, name):
            artist.set(**look)
