"""How often each method is among the cheapest (Dolan and Moré, Mathematical Programming 2002)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.errors import FedbenchError
from fedbench.paper.metrics import Metric
from fedbench.report.figures.panels import Axes, Entries, Kind, Line2D, Panel, metric_label
from fedbench.report.figures.style import GREY, INK, Style, stroke, style

_OTHER = Style(GREY, "-", "")
_NAMED = 7  # hues that have a name and a colour, besides the base
# values of τ in a figure's numbers; it ends at the last
_AT = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True)
class Profile(Kind):
    """Performance profiles: the share of problems that a hue solves at τ times the least cost.

    A problem is one setting with one seed, and the figure's metric the cost, such as
    megabytes@to:0.9: what is not reached is not solved. `base` is named, and so are the seven hues
    with the largest area under their lines, over log τ.
    """

    alone: ClassVar[tuple[float, float]] = (5.2, 3.2)
    note: ClassVar[str] = (
        "A problem is a setting with one seed. At τ = 1 a line says how often the method costs "
        "least, further to the right how often at most τ times the least of all methods. Grey: "
        "the other methods. Methods with missing runs are not drawn."
    )
    lack: ClassVar[str] = "no method has all its runs, with a number"

    base: str = "FedAvg"

    def require(self, panel: Panel) -> None:
        """Refuse a metric that is no cost."""
        if not Metric(panel.metric).lower_is_better:
            lacks = f"metric = '{panel.metric}' is no cost; write one such as round@to:0.9"
            raise FedbenchError(f"figure kind profile: {lacks}")

    def has(self, panel: Panel) -> bool:
        """Whether a hue has all its runs, and one of them a number."""
        return any(x.whole and np.isfinite(x.readings["value"]).any() for x in panel.hues)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """A line of steps for each hue, the named ones above the others."""
        ratios, looks = _ratios(panel), self._looks(panel)
        for label in sorted(ratios, key=lambda each: each in looks):
            steps = [1.0, *np.sort(ratios[label].clip(upper=_AT[-1])), _AT[-1]]
            solved = [100 * (ratios[label] <= at).mean() for at in steps]
            thin = {} if label in looks else {"alpha": 0.4, "linewidth": 0.7}
            look = stroke(looks.get(str(label), _OTHER)) | {"drawstyle": "steps-post"} | thin
            sns.lineplot(x=steps, y=solved, estimator=None, ax=axes, **look)
        axes.set(xscale="log", xlim=(1, _AT[-1]), ylim=(0, 102), ylabel="Problems solved (%)")
        axes.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"], minor=False)
        axes.set_xlabel(f"τ: {metric_label(panel.metric)}, times the least")

    def numbers(self, panels: Sequence[Panel]) -> pd.DataFrame:
        """One row per panel and hue, with the share that is solved at some values of τ."""
        solved = {
            panel.title: pd.DataFrame({f"at_{at:g}": (_ratios(panel) <= at).mean() for at in _AT})
            for panel in panels
        }
        return pd.concat(solved, names=["panel", "hue"]).reset_index() if solved else pd.DataFrame()

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """The named hues; several panels share none, as their colours differ."""
        looks = self._looks(panels[0]) if len(panels) == 1 else {}
        return [(Line2D([], [], **stroke(look)), label) for label, look in looks.items()]

    def _looks(self, panel: Panel) -> dict[str, Style]:
        area = np.log(_AT[-1] / _ratios(panel).clip(upper=_AT[-1])).mean()
        best = area.drop(self.base, errors="ignore").sort_values(ascending=False, kind="stable")
        looks = {str(x): replace(style(n), marker="") for n, x in enumerate(best.index[:_NAMED])}
        return looks | ({self.base: Style(INK, "-", "")} if self.base in area else {})


def _ratios(panel: Panel) -> pd.DataFrame:
    """The cost over the least of all hues, problems × hues; infinite where it is not reached."""
    whole = [hue for hue in panel.hues if hue.whole]
    costs = pd.DataFrame({x.label: x.readings.set_index(panel.block)["value"] for x in whole})
    least: pd.Series[float] = costs.min(axis=1)
    ratios: pd.DataFrame = costs.div(least, axis=0)
    return ratios[np.isfinite(least)]
