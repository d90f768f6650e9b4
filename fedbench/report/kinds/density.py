"""The density of the eigenvalues of the loss's Hessian."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Positive
from fedbench.report.figures.panels import Axes, Kind, Panel
from fedbench.report.figures.style import stroke
from fedbench.report.values.numbers import power


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
