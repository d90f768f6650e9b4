"""How much each local gradient counts in the momentum, and how biased it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fedbench.checked import Decay
from fedbench.report.columns import column_label
from fedbench.report.kind import Kind, filling, stroke
from fedbench.report.panel import Hue, Panel
from fedbench.report.styles import styles


@dataclass(frozen=True)
class Weights(Kind):
    """Momentum weights over the local steps, and the bias that the probe `steps` measured.

    β^(H−1−k) for the gradient of step k of H in MFL's momentum, and in RMFL's (1−β) β^(k+1), at
    last β^H, each divided by its sum; `beta` is β (RMFL paper, Fig. 3 and equations 1 and 3). The
    bias is the mean of `column` over clients and rounds, or of 1 − cosine.
    """

    reads: ClassVar[str] = "steps"
    alone: ClassVar[tuple[float, float]] = (5.2, 2.6)

    beta: Decay = 0.9
    column: str = "cosine"

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Weights as bars on the left scale, the bias as lines on the right one."""
        biases = {hue: self._bias(hue) for hue in panel.hues if not hue.table(self.reads).empty}
        steps, looks = max(len(bias) for bias in biases.values()), styles(["MFL", "RMFL"])
        for (name, weights), shift in zip(self._weights(steps).items(), (-0.21, 0.21), strict=True):
            axes.bar(np.arange(steps) + shift, weights, 0.4, **filling(looks[name], 0.55))
        right = axes.twinx()
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        for hue, bias in biases.items():
            right.plot(bias.index, bias, linewidth=1.6, **_line(hue, len(panel.hues)))
        right.set_ylim(bottom=0)
        cosine = self.column == "cosine"
        right.set_ylabel("Bias, 1 − cosine" if cosine else column_label(self.column))
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_xlabel("Local step")
        axes.set_ylabel("Share of the gradient")

    def legend(self, panels: Sequence[Panel]) -> list[tuple[Artist, str]] | None:
        """The two weightings, then the lines."""
        entries: list[tuple[Artist, str]] = [
            (Patch(**filling(look, 0.55)), f"share in {name}'s momentum")
            for name, look in styles(["MFL", "RMFL"]).items()
        ]
        hues = {hue.label: hue for panel in panels for hue in panel.hues if hue.found}
        return entries + [
            (Line2D([], [], **_line(hue, len(hues))), f"bias of the gradients, {label}")
            for label, hue in hues.items()
        ]

    def _weights(self, steps: int) -> dict[str, NDArray[np.float64]]:
        k, beta = np.arange(steps), self.beta
        usual = beta ** (steps - 1.0 - k)
        turned = (1 - beta) * beta ** (k + 1.0)
        turned[-1] = beta**steps
        return {"MFL": usual / usual.sum(), "RMFL": turned / turned.sum()}

    def _bias(self, hue: Hue) -> "pd.Series[Any]":
        table = hue.table(self.reads).query("step >= 0")
        mean: pd.Series[Any] = table.groupby("step")[self.column].mean()
        return 1 - mean if self.column == "cosine" else mean


def _line(hue: Hue, hues: int) -> dict[str, Any]:
    """One line is drawn in a colour that neither weighting has."""
    look = stroke(hue)
    own = {"color": "#009E73", "markerfacecolor": "#009E73", "linestyle": "-", "marker": "D"}
    return look | own if hues == 1 else look
