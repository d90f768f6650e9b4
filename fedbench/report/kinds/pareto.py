"""What methods cost against what they reach, and those that no other beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import pandas as pd
import seaborn as sns

from fedbench.base import registry
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import reading
from fedbench.report.figures.panels import Axes, Entries, Hue, Kind, Panel, metric_label, tip
from fedbench.report.figures.style import GREY, INK, points, stroke, style
from fedbench.spec.compositions import own_methods

MOST = 16  # hues that a legend can tell apart; with more only the front has names and colours
_COMPUTATION = ("sample_passes", "compute", "thousand_sample_passes")
_HOLLOW = "Hollow and not on the front, because their servers compute too, which is not counted"
_CROWD = "Grey points are the other methods, darker where they lie on each other."
_PLAIN: dict[str, Any] = {"edgecolor": GREY, "s": 13, "linewidth": 0.7}


class Point(NamedTuple):
    """Means over the runs of a hue, and the spread of the score."""

    hue: Hue
    cost: float
    score: float
    spread: float


@dataclass(frozen=True)
class Pareto(Kind):
    """Each hue as a point: its `cost` along the bottom, the figure's metric upwards.

    `cost` is any column of the history, with a moment if need be, such as compute, or
    megabytes@to:0.8 for what it takes to reach an accuracy of 0.8. The points than which none is
    better at no higher cost are named and joined by a line, the Pareto front; `base` and methods of
    one's own folder are named too. Points are means over the seeds, bars one sample standard
    deviation of the metric on either side; where a mean is over settings too, the deviation over
    the seeds is pooled over them. Of more hues than a legend can tell apart, those without a name
    are grey points without a bar. A hue with a diverged run has no point: it spent less than
    planned, and would seem to be cheap. Of computation, which is counted at the clients alone,
    methods whose server computes on samples too are hollow points that are not on the front.
    """

    alone: ClassVar[tuple[float, float]] = (5.2, 3.4)
    size: ClassVar[tuple[float, float]] = (3.4, 2.6)
    note: ClassVar[str] = (
        "The line is the Pareto front: no other method is better at the same or lower cost. "
        "Methods with missing runs are not drawn."
    )

    lack: ClassVar[str] = "no method has all its runs"

    cost: str = "megabytes"
    base: str = "FedAvg"

    def has(self, panel: Panel) -> bool:
        """Whether there is a point."""
        return any(_point(hue, self.cost) for hue in panel.hues)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One point per hue, and the front."""
        found = [point for hue in panel.hues if (point := _point(hue, self.cost))]
        counted = [point for point in found if not self._is_uncounted(point.hue)]
        best = front(counted, Metric(panel.metric).lower_is_better)
        named = [p for p in found if p in best or p.hue.label in {self.base, *own_methods()}]
        crowd = [p for p in found if p not in named] if len(panel.hues) > MOST else []
        self._crowd(axes, crowd)
        for point in (p for p in found if p not in crowd):
            mark = point.hue.style
            if crowd:  # variants of a method share theirs, and would look alike
                mark = style(panel.hues.index(point.hue))
                mark = replace(mark, colour=INK) if point.hue.label == self.base else mark
            look = stroke(replace(mark, hollow=mark.hollow or self._is_uncounted(point.hue)))
            row = pd.DataFrame([point[1:]], columns=["cost", "score", "spread"])
            look |= {"native_scale": True, "err_kws": {"linewidth": 0.8}}
            points(axes, row, ("cost", "score"), "spread", **look)
        steps: dict[str, Any] = {"drawstyle": "steps-post", "color": INK, "linewidth": 0.8}
        sns.lineplot(
            x=[p.cost for p in best], y=[p.score for p in best], zorder=1, ax=axes, **steps
        )
        for point in named:
            _name(axes, point, aside=bool(crowd) and point not in best)
        axes.margins(0.12)
        axes.set_xlabel(metric_label(self.cost))
        axes.set_ylabel(metric_label(panel.metric))

    def remark(self, panels: Sequence[Panel]) -> str:
        """What grey points are, whose computation is not counted, and which hues have no point."""
        crowd = _CROWD if any(len(panel.hues) > MOST for panel in panels) else ""
        lost = [
            f"{hue.label} ({panel.title})" if panel.title else hue.label
            for panel in panels
            for hue in panel.hues
            if hue.diverged
        ]
        hollow = [h.label for panel in panels for h in panel.hues if self._is_uncounted(h)]
        uncounted = f"{_HOLLOW}: {', '.join(dict.fromkeys(hollow))}." if hollow else ""
        diverged = f"Not shown, because a run diverged: {', '.join(lost)}." if lost else ""
        return " ".join(filter(None, [crowd, uncounted, diverged]))

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The point of a hue, and the spread of its score."""
        point = _point(hue, self.cost)
        return pd.DataFrame([point[1:]] if point else [], columns=[self.cost, "mean", "std"])

    def _crowd(self, axes: Axes, crowd: Sequence[Point]) -> None:
        """Grey points, hollow where the server computes what is not counted.

        They lie where their numbers are; their edges show how many lie on each other.
        """
        for uncounted, strength in ((False, 0.7), (True, 0.0)):
            for p in (each for each in crowd if self._is_uncounted(each.hue) == uncounted):
                told = f"{p.hue.label}: {p.score:.4g} at {p.cost:.4g}"
                look = {"color": (GREY, strength), "gid": tip(axes, told)} | _PLAIN
                sns.scatterplot(x=[p.cost], y=[p.score], ax=axes, **look)

    def _is_uncounted(self, hue: Hue) -> bool:
        """Whether the hue's server computes what the cost leaves out."""
        if reading(self.cost).metric not in _COMPUTATION:
            return False
        parts = (registry.find("method", part.name) for part in hue.cells[0].run.parts)
        return any(part.constants.get("computes_at_server", False) for part in parts)

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """No legend where it could not tell the hues apart."""
        return [] if any(len(panel.hues) > MOST for panel in panels) else None


def _name(axes: Axes, point: Point, *, aside: bool) -> None:
    """The name beside a point; `aside`: further away, with a line, as others stand around it."""
    look: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points", "fontsize": 7}
    if aside:
        line = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
        look |= {"xytext": (34, -14), "va": "center", "arrowprops": line}
    axes.annotate(point.hue.label, (point.cost, point.score), **look)


def _point(hue: Hue, cost: str) -> Point | None:
    """The hue's means; None unless every planned run has a score and a cost and none diverged."""
    if hue.diverged:
        return None
    scores = hue.readings.set_index("run")["value"].dropna()
    costs = hue.read(cost)
    runs = hue.planned
    if not runs or not runs <= {*scores.index} or not runs <= {*costs}:
        return None
    spent = [costs[run] for run in runs]
    mean = sum(spent) / len(spent)
    if mean == float("inf"):
        return None
    return Point(hue, mean, float(scores.mean()), _over_seeds(hue.readings))


def _over_seeds(readings: pd.DataFrame) -> float:
    """The standard deviation over the seeds of a setting, pooled over the settings; 0 of one."""
    setting = [axis for axis in readings.columns if axis not in ("seed", "run", "value")]
    of_each = readings.groupby(setting) if setting else readings.groupby(lambda _: 0)
    variances = of_each["value"].var(ddof=1).dropna()
    return float(variances.mean() ** 0.5) if len(variances) else 0.0


def front(points: Sequence[Point], lower_is_better: bool) -> list[Point]:
    """The points of which no other costs at most as much and scores better, the cheapest first."""
    sign = -1 if lower_is_better else 1
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -sign * p.score)):
        if not best or sign * point.score > sign * best[-1].score:
            best.append(point)
    return best
