"""The density of a Hessian's eigenvalues."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fedbench.base.checked import Positive
from fedbench.report.figures.kind import Kind, stroke
from fedbench.report.figures.panel import Panel
from fedbench.report.values.numbers import power


@dataclass(frozen=True)
class Density(Kind):
    """The probe `spectrum`'s density on a logarithmic scale (ASD paper, Fig. 3).

    The mean over the seeds, whose grids may differ; densities below `floor` are cut off.
    """

    reads: ClassVar[str] = "spectrum"

    floor: Positive = 1e-5

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line a hue, and its largest eigenvalue shown as a tick at the bottom."""
        for hue in panel.hues:
            table = hue.table(self.reads)
            if len(table):
                grid, density = _mean(table, self.floor)
                axes.plot(
                    grid, density, linewidth=1.3, markevery=max(1, len(grid) // 9), **stroke(hue)
                )
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: power(value))
        axes.set_ylim(bottom=self.floor)
        axes.set_xlabel("Eigenvalue of the Hessian")
        axes.set_ylabel("Density")


def _mean(table: Any, floor: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean density on the union of the seeds' grids."""
    seeds = [own.sort_values("eigenvalue") for _, own in table.groupby("seed")]
    grid = np.unique(np.concatenate([own["eigenvalue"].to_numpy() for own in seeds]))
    each = [np.interp(grid, own["eigenvalue"], own["density"], left=0, right=0) for own in seeds]
    mean = np.mean(each, axis=0)
    return grid, np.where(mean < floor, np.nan, mean)
