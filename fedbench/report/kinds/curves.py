"""Curves over the rounds, or over what they have cost: traffic, seconds, computation."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import seaborn as sns
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural
from fedbench.base.errors import FedbenchError
from fedbench.paper.metrics import Metric
from fedbench.report.facts.methods import large_cost
from fedbench.report.figures.panels import Axes, Hue, Kind, Panel, metric_label
from fedbench.report.figures.style import GREY, INK, PAPER, stroke
from fedbench.report.values.numbers import signed
from fedbench.spec import RunSpec


def _passes_per_round(run: RunSpec) -> float:
    """Passes over a client's data: E for FedAvg, E + 1 for ASD, whose teacher is asked once."""
    epochs = run.local_epochs
    if epochs is None:
        raise FedbenchError(f"run {run.id}: steps = {run.steps}, but x: units counts epochs")
    if run.tune and not {"epochs", "steps", "work"}.isdisjoint(run.tune.grid):
        raise FedbenchError(f"run {run.id}: its search chooses the work that x: units counts")
    made = float(run.work.build("work").mean(epochs))
    cost = large_cost([part.build("method") for part in run.parts], made)
    once = cost["teachers"]
    return made * (1 + cost["forward"] - once) + once


_ARROW: Any = {"arrowstyle": "<->", "shrinkA": 0, "shrinkB": 0, "color": INK}
_UNITS = "Computation units (forward passes)"


@dataclass(frozen=True)
class Curves(Kind):
    """A metric at every evaluated round: mean and spread over the seeds; one seed is drawn thin.

    A dotted line is the accuracy of guessing, where curves stay near it.

    `smooth` averages each value with the `smooth` − 1 evaluations before it. With `x: units` the
    bottom axis is computation in forward passes over the local data, E per round for FedAvg and
    E + 1 for ASD (ASD paper, Fig. 11). With `megabytes`, `seconds`, `sample_passes`, `compute`
    or `thousand_sample_passes` it is that column of the history, which rises from round to round:
    its mean over the runs at each evaluated round. `mark` is the round at which the figure states
    by how much the best method of `ours` leads the best other one (FedADC paper, Figs. 3 and 4), or
    the last round where there are fewer; 0 marks none.
    """

    shared: ClassVar[bool] = True

    smooth: Count = 1
    x: Literal[
        "round", "units", "megabytes", "seconds", "sample_passes", "compute",
        "thousand_sample_passes",
    ] = "round"  # fmt: skip
    mark: Natural = 0
    ours: tuple[str, ...] = ()

    def require(self, panel: Panel) -> None:
        """Refuse units of runs that count no epochs."""
        for cell in (cell for hue in panel.hues for cell in hue.cells if self.x == "units"):
            _passes_per_round(cell.run)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per hue, with a band of one sample standard deviation on either side."""
        for place, hue in enumerate(panel.hues):
            if not hue.curves.empty:
                self._line(axes, hue, place, place / len(panel.hues))
        axes.set_xlabel(_UNITS if self.x == "units" else metric_label(self.x))
        names = dict.fromkeys(hue.metric for hue in panel.hues)
        axes.set_ylabel(metric_label(panel.metric) if len(names) == 1 else "Value")
        axes.margins(x=0.03)
        guessed = set[float]()  # one line for each data set of which a curve stays near it
        for hue in panel.hues if Metric(panel.metric).is_of_labels else ():
            guess, mean = hue.collected.guess_of(hue.cells[0].run.dataset), hue.curves.mean(axis=1)
            if guess and mean.iloc[len(mean) // 2 :].min() < guess.limit * hue.factor:
                guessed.add(guess.accuracy * hue.factor)
        for height in guessed:
            axes.axhline(height, color=GREY, linestyle=":", linewidth=1)
        if self.x == "round":
            axes.locator_params(axis="x", nbins=6, integer=True)
        if self.mark:
            self._mark(axes, panel)

    def curves_of(self, panel: Panel) -> Iterator[tuple[int, Hue, pd.Series]]:
        """The means over the seeds, by what stands along the bottom axis."""
        for place, hue in enumerate(panel.hues):
            if not hue.curves.empty:
                mean = self._smoothed(hue).mean(axis=1).set_axis(self._along(hue))
                yield place, hue, mean.rename_axis(self.x)

    def rows(self, hue: Hue) -> pd.DataFrame:
        """Mean and standard deviation over the seeds at each evaluated round."""
        if hue.curves.empty:
            return pd.DataFrame()
        runs = self._smoothed(hue)
        told = {"mean": runs.mean(axis=1), "std": runs.std(axis=1), "runs": runs.count(axis=1)}
        return pd.DataFrame({"round": runs.index, self.x: self._along(hue), **told})

    def _line(self, axes: Axes, hue: Hue, place: int, shift: float) -> None:
        """Later lines are thinner, their first markers further right: they hide no others."""
        name = f"{axes.get_gid()}-{place}"
        runs = self._smoothed(hue).set_axis(self._along(hue))
        # rounds after the last run has diverged cost nothing, and are no further runs at one place
        runs = runs[~runs.index.duplicated(keep="last")]
        rows = runs.melt(ignore_index=False).reset_index(names="x")
        every = max(1, len(runs) // 8)
        sns.lineplot(
            rows, x="x", y="value", errorbar="sd", ax=axes, gid=name,
            err_kws={"gid": f"{name}-band", "alpha": 0.16, "linewidth": 0},
            linewidth=max(1.1, 2.2 - 0.2 * place) if runs.shape[1] > 1 else 1.0,
            markevery=(int(shift * every), every),
            **stroke(hue.style),
        )  # fmt: skip

    def _smoothed(self, hue: Hue) -> pd.DataFrame:
        """Rounds × runs: each run's own evaluations averaged, and kept until its next one."""
        curves, means = hue.curves, {}
        runs = {cell.run_id: cell.run for cell in hue.cells if cell.run_id in curves}
        for run_id, run in runs.items():
            own = [t % run.eval_every == 0 or t == run.rounds for t in curves.index]
            mean = curves.loc[own, run_id].rolling(self.smooth, min_periods=1).mean()
            means[run_id] = mean.reindex(curves.index, method="ffill")
        return pd.DataFrame(means, curves.index, [*curves])

    def _along(self, hue: Hue) -> NDArray[np.float64]:
        """Where each evaluated round stands on the bottom axis; NaN if runs do not say."""
        rounds = hue.curves.index.to_numpy(dtype=float)
        if self.x == "round":
            return rounds
        if self.x == "units":
            return rounds * fmean(_passes_per_round(cell.run) for cell in hue.cells)
        along = hue.history(self.x).mean(axis=1).reindex(rounds)
        if along.isna().all():
            raise FedbenchError(f"figure kind curves: x = '{self.x}', but no run has this column")
        return along.to_numpy(dtype=float)

    def _mark(self, axes: Axes, panel: Panel) -> None:
        means = {h.label: self._smoothed(h).mean(axis=1).loc[: self.mark] for h in panel.hues}
        last = {label: mean.iloc[-1] for label, mean in means.items() if len(mean.dropna())}
        ours = [last[label] for label in self.ours if label in last]
        others = [value for label, value in last.items() if label not in self.ours]
        if not ours or not others:
            return
        at = max(mean.index[-1] for mean in means.values() if len(mean))
        best = min if Metric(panel.metric).lower_is_better else max
        axes.axvline(at, linewidth=0.8, linestyle=":", color=GREY)
        axes.annotate("", (at, best(ours)), (at, best(others)), arrowprops=_ARROW)
        text = f"{signed(best(ours) - best(others), 1)} at round {at}"
        right = at > axes.get_xlim()[1] * 0.6
        axes.annotate(
            text, (at, 1), (-5 if right else 5, -2), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", fontsize=7.5, va="top", ha="right" if right else "left",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
