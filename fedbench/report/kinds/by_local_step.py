"""What a probe wrote by local step: box plots, and biases beside the weights of the gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import seaborn as sns
from numpy.typing import NDArray

from fedbench.base import registry
from fedbench.base.checks import BelowOne, Count, Natural
from fedbench.base.errors import FedbenchError, require_among
from fedbench.paper.metrics import Metric, columns_of
from fedbench.report.figures.panels import Axes, Entries, Hue, Kind, Line2D, Panel, Patch
from fedbench.report.figures.style import GREEN, Style, bars, filling, stroke, styles


@dataclass(frozen=True)
class Boxes(Kind):
    """The spread of a table's `column`, one box per value of `by` (RMFL paper, Figs. 4 and 5).

    A box shows one value per client and round, or with `per: round` one per round, the mean over
    its clients: quartiles, whiskers to 1.5 times their distance, a mark at the mean. `most` is the
    largest number of boxes; where `by` has more values, neighbours share a box (0: no limit).
    """

    alone: ClassVar[tuple[float, float]] = (5.2, 2.6)
    fill: ClassVar[float | None] = 0.25
    note: ClassVar[str] = (
        "Boxes are the quartiles with a line at the median and a mark at the mean; whiskers reach "
        "to 1.5 times the quartiles' distance."
    )

    table: str = "steps"
    column: str = "cosine"
    by: str = "step"
    per: Literal["client", "round"] = "client"
    most: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_columns("boxes", self.table, self.column, self.by)

    @property
    def reads(self) -> str:  # type: ignore[override]  # an option chooses it
        """The table that the option names."""
        return self.table

    def draw(self, axes: Axes, panel: Panel) -> None:
        """The boxes of the hues side by side."""
        tables = {hue: self._values(hue.table(self.table)) for hue in panel.hues}
        full = {hue: values.assign(hue=hue.label) for hue, values in tables.items() if len(values)}
        sns.boxplot(
            pd.concat(full.values(), ignore_index=True), x="at", y="value", hue="hue",
            native_scale=True, width=0.8, gap=0.15, showfliers=False, showmeans=True,
            legend=False, ax=axes,
        )  # fmt: skip
        for boxes, hue in zip(axes.containers, full, strict=True):
            line = {"color": hue.style.colour, "linewidth": 0.9}
            mean = stroke(hue.style) | {"linestyle": "", "markersize": 2.6}
            looks: dict[str, dict[str, Any]] = {"boxes": filling(hue.style, 0.25), "means": mean}
            looks |= {"whiskers": line, "caps": line, "medians": line | {"linewidth": 1.6}}
            for name, look in looks.items():
                for artist in getattr(boxes, name):
                    artist.set(**look)
        axes.set_xlabel(Metric(f"{self.table}/{self.by}").label)
        axes.set_ylabel(Metric(f"{self.table}/{self.column}").label)
        axes.locator_params(axis="x", nbins=8, integer=True)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The number of values, mean, deviation, range and quartiles of each box."""
        values = self._values(hue.table(self.table))
        return values.groupby("at")["value"].describe().reset_index() if len(values) else values

    def _values(self, table: pd.DataFrame) -> pd.DataFrame:
        """Columns `at` and `value`; without rows of step −1, which are about a whole round."""
        if table.empty:
            return table
        for name in (self.by, self.column):
            if table[name].dtype.kind not in "iufb":
                raise FedbenchError(f"boxes: the column '{name}' of {self.table} has no numbers")
        rows = table.dropna(subset=[self.column])
        rows = rows[rows[self.by] >= 0]
        if self.per == "round":
            keys = dict.fromkeys(["seed", "round", self.by])
            rows = rows.groupby([*keys])[self.column].mean().reset_index()
        at = rows[self.by]
        distinct = np.sort(at.unique())
        if self.most and len(distinct) > self.most:  # each is the mean of its group of neighbours
            groups = np.array_split(distinct, self.most)
            at = at.map({value: group.mean() for group in groups for value in group})
        return pd.DataFrame({"at": at, "value": rows[self.column]})


_SHARES = {str(x): filling(style, 0.55) for x, style in styles(["MFL", "RMFL"]).items()}


@dataclass(frozen=True)
class Weights(Kind):
    """Weights in the momentum by local step, and the bias that the probe `steps` measured.

    In MFL's momentum the gradient of step k of H has the weight β^(H−1−k), in RMFL's the weight of
    its `reading`; each is divided by the sum over the steps (RMFL paper, Fig. 3, equations 1
    and 3). `steps` lists the H to draw, one below the other; empty: as many steps as were measured.
    The bias is the mean of `column` over clients and rounds; of the cosine, of 1 − cosine.
    """

    reads: ClassVar[str] = "steps"
    size: ClassVar[tuple[float, float]] = (4.2, 1.9)
    alone: ClassVar[tuple[float, float]] = (5.2, 2.6)

    beta: BelowOne = 0.9
    reading: str = "r1"
    column: str = "cosine"
    steps: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_columns("weights", self.reads, self.column)
        self._weights(1)  # refuses an unknown reading

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The H to draw, as 'H = 10'."""
        return tuple(f"H = {H}" for H in self.steps) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Weights as bars on the left scale, biases as lines on the right scale."""
        biases = {hue: self._bias(hue) for hue in panel.hues if not hue.table(self.reads).empty}
        steps = int(panel.part.removeprefix("H = ") or max(map(len, biases.values())))
        rows = pd.DataFrame(self._weights(steps)).reset_index(names="step")
        bars(
            axes, rows.melt("step", var_name="hue"), _SHARES, x="step", y="value",
            native_scale=True, width=0.84, gap=0.05, errorbar=None,
        )  # fmt: skip
        right = axes.twinx()
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        for hue, bias in biases.items():
            look, shown = _line(hue, len(biases)), bias.loc[: steps - 1]
            sns.lineplot(shown, estimator=None, linewidth=1.6, ax=right, **look)
        right.margins(y=0.08)  # the marks of the highest point stay whole
        right.set_ylim(bottom=0)
        usual = Metric(f"{self.reads}/{self.column}").label
        right.set_ylabel("Bias, 1 − cosine" if self.column == "cosine" else usual)
        axes.locator_params(axis="x", nbins=8, integer=True)
        axes.set(xlabel="Local step", ylabel="Share of the gradient")

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The bias at each local step."""
        table = hue.table(self.reads)
        return table if table.empty else self._bias(hue).rename("bias").reset_index()

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The two weightings, then the biases."""
        keys: Entries = [(Patch(**look), f"share in {x}'s momentum") for x, look in _SHARES.items()]
        hues = {hue.label: hue for panel in panels for hue in panel.hues if hue.measured}
        for label, hue in hues.items():
            line = Line2D([], [], **_line(hue, len(hues)))
            keys.append((line, f"bias of the gradients, {label}"))
        return keys

    def _weights(self, steps: int) -> dict[str, NDArray[np.float64]]:
        usual = self.beta ** (steps - 1.0 - np.arange(steps))
        rmfl = registry.build("method", "rmfl", {"beta": self.beta, "reading": self.reading})
        of_rmfl = np.array(rmfl.weights(steps)[1])
        return {"MFL": usual / usual.sum(), "RMFL": of_rmfl / of_rmfl.sum()}

    def _bias(self, hue: Hue) -> "pd.Series[Any]":
        table = hue.table(self.reads).query("step >= 0")
        mean: pd.Series[Any] = table.groupby("step")[self.column].mean()
        return 1 - mean if self.column == "cosine" else mean


def _require_columns(kind: str, table: str, *names: str) -> None:
    known = columns_of(table)  # none, if a probe of users' declares none
    for name in names if known else ():
        require_among(f"figure kind {kind}", f"column of table '{table}'", name, known)


def _line(hue: Hue, hues: int) -> dict[str, Any]:
    """How a bias is drawn; a single one has a colour that neither weighting has."""
    return stroke(Style(GREEN, "-", "D") if hues == 1 else hue.style)
