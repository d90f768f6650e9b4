"""Which methods are ahead of one of them by more than chance, and which none beats at its cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import pandas as pd
import seaborn as sns

from fedbench.base import registry
from fedbench.base.errors import require_among
from fedbench.paper.metrics import Metric
from fedbench.paper.yaml_notation import reading
from fedbench.report.figures.layout import TIP, listed, name_lines
from fedbench.report.figures.panels import Axes, Entries, Figure, Hue, Kind, Panel, metric_label
from fedbench.report.figures.style import GREY, INK, Style, points, stroke, style
from fedbench.report.values.leads import Leads, leads

_WIDE = 4.6  # inches of a panel


@dataclass(frozen=True)
class Lead(Kind):
    """Each hue's mean difference from the hue `base` with the same seed, the best on top.

    The bars are 95 % confidence intervals of each hue alone, of differences that are paired by
    seed; which leads are significant is tested for all hues together (`leads`). A mean over
    settings is taken of hues of which every run is there: a part of the settings is not all.
    """

    note: ClassVar[str] = (
        "Bars: 95 % confidence intervals (Student's t) of the mean difference of pairs with the "
        "same seed, each for its method alone; at an arrow they go on, or lie beyond it. Filled: "
        "significant at 5 % among all methods together (Westfall and Young's max-T test over all "
        "flips of signs, with three seeds in each of several settings, or ten in one). Squares are "
        "not tested: a run diverged or is near chance, or its settings are not settled. Luck in "
        "tuning is not included. Methods that lack a run are left out; your own are in bold."
    )
    lack: ClassVar[str] = "too few seeds are finished, or reach the target"

    base: str = "FedAvg"
    untested: tuple[str, ...] = ()  # hues whose settings are not settled: shown, and not tested

    def require(self, panel: Panel) -> None:
        """Refuse a base that no panel shows."""
        require_among("figure kind lead", "base", self.base, [hue.label for hue in panel.hues])

    def has(self, panel: Panel) -> bool:
        """Whether there are two seeds of the base and of another hue."""
        return self._leads(panel) is not None

    def absence(self, panel: Panel) -> str:
        """Whether seeds are too few, or runs of a mean over settings are missing."""
        if not panel.measured or panel.block == ["seed"]:
            return super().absence(panel)
        if any(hue.whole for hue in panel.hues):
            return f"needs all runs of {self.base} and of another method"
        return "no method has all its runs"

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The panels side by side, each as high as its methods need."""
        found = [(panel, lead) for panel in panels if (lead := self._leads(panel))]
        names = [[str(name) for name in lead.mean.index] for _, lead in found]
        figure, columns = listed(title, names, _WIDE, free=1.5)
        for axes, (panel, lead) in zip(columns, found, strict=True):
            self._draw(axes, panel, lead)
        return figure

    def numbers(self, panels: Sequence[Panel]) -> pd.DataFrame:
        """One row per panel and hue: its lead, its interval, its p-value among all."""
        found = {}
        for panel in panels:
            if lead := self._leads(panel):
                ahead = lead.mean.drop(self.base)
                hues, half = ahead.index, lead.half[ahead.index]
                rows = pd.DataFrame({"base": self.base, "lead": ahead}, index=hues)
                rows["low95"], rows["high95"], rows["p"] = ahead - half, ahead + half, lead.p[hues]
                rows["significant"] = [lead.tells(str(name)) for name in hues]
                rows["collapsed"], rows["pairs"] = hues.isin(lead.collapsed), lead.blocks
                found[panel.title, panel.metric] = rows
        names = ["panel", "metric", "name"]
        return pd.concat(found, names=names).reset_index() if found else pd.DataFrame()

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """None is needed: each line has its name."""
        return []

    def _leads(self, panel: Panel) -> Leads | None:
        sign, block = -1 if Metric(panel.metric).lower_is_better else 1, panel.block
        alone = block == ["seed"]  # of one setting some seeds will do
        shown = [hue for hue in panel.hues if hue.whole or (alone and len(hue.readings))]
        of_hue = {hue.label: sign * hue.readings.set_index(block)["value"] for hue in shown}
        low = {x.label for x in panel.hues if x.near and (x.readings["value"] < x.near).any()}
        lost = {x.label for x in panel.hues if x.diverged}
        collapsed = {*self.untested, *lost, *low}
        return leads(pd.DataFrame(of_hue), self.base, collapsed) if of_hue else None

    def _draw(self, axes: Axes, panel: Panel, lead: Leads) -> None:
        names = [str(name) for name in lead.mean.index]
        rows = pd.DataFrame({"name": names, "lead": lead.mean.to_numpy()})
        rows["spread"] = lead.half.drop(self.base).reindex(names).to_numpy()
        rows["told"] = [lead.tells(name) for name in names]
        rows["collapsed"] = rows["name"].isin(lead.collapsed)
        for (told, collapsed), alike in rows.groupby(["told", "collapsed"]):
            look = stroke(Style(INK if told else GREY, "", "s" if collapsed else "o", not told))
            look |= {"orient": "y", "order": names, "capsize": 0.35}
            points(axes, alike, "lead", x="lead", y="name", **look)
        inside, usual = _inside(lead.mean, lead.collapsed), lead.half[lead.half > 0].median()
        low, high = inside.min(), inside.max()
        room = 0.05 * (high - low) + (1.1 * usual if usual > 0 else 0)  # NaN if none is known
        axes.set_xlim(low - room, high + room)
        for end, sign, arrow in zip(axes.get_xlim(), (-1, 1), "<>", strict=True):
            reach = rows["lead"] + sign * rows["spread"].fillna(0)
            cut = rows[sign * (reach - end) > 0]  # goes on beyond it
            at = {"x": [end] * len(cut), "y": list(cut.index), "marker": arrow, "clip_on": False}
            sns.scatterplot(**at, color=GREY, s=14, linewidth=0, ax=axes)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.locator_params("x", nbins=6)  # more numbers would touch
        name_lines(axes, names)
        own = {hue.label for hue in panel.hues if hue.is_own}
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() in own else "normal")
        unit = " (points)" if Metric(panel.metric).is_score else ""
        axes.set_xlabel(f"{Metric(panel.metric).label}:\nahead of {self.base}{unit}", fontsize=8)
        titles = [panel.title, f"{lead.blocks} pairs each", "" if lead.tested else "not tested"]
        axes.set_title(", ".join(filter(None, titles)), fontsize=8.5, loc="left")


def _inside(mean: "pd.Series[float]", collapsed: tuple[str, ...]) -> "pd.Series[float]":
    """The means but for those that would leave the others no room, as a diverged run's may."""
    sound = mean.drop([*collapsed], errors="ignore")
    tested = sound if len(sound) else mean
    width = (tested.max() - tested.min()) or math.inf
    return mean[mean.between(tested.min() - _FAR * width, tested.max() + _FAR * width)]


MOST = 16  # hues that a legend can tell apart; with more only the front has names and colours
_FAR = 3  # times the extent of the leads that are tested
_COMPUTATION = ("sample_passes", "compute", "thousand_sample_passes")
_HOLLOW = "Hollow and not on the front, because their servers compute too, which is not counted"
_CROWD = "Grey points are the other methods, darker where they lie on each other."
_LINE = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
_ASIDE: dict[str, Any] = {"xytext": (34, -14), "va": "center", "arrowprops": _LINE}
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
        "Methods with missing runs, or that do not reach the target, are not drawn."
    )
    lack: ClassVar[str] = "no method has all its runs, with a number"

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
        named = [p for p in found if p in best or p.hue.label == self.base or p.hue.is_own]
        crowd = [p for p in found if p not in named] if len(panel.hues) > MOST else []
        # they lie where their numbers are, hollow where the server computes what is not counted;
        # their edges show how many lie on each other
        for p in sorted(crowd, key=lambda each: self._is_uncounted(each.hue)):
            told = f"{axes.get_gid()}{TIP}{p.hue.label}: {p.score:.4g} at {p.cost:.4g}"
            colour = (GREY, 0.0 if self._is_uncounted(p.hue) else 0.7)
            sns.scatterplot(x=[p.cost], y=[p.score], color=colour, gid=told, ax=axes, **_PLAIN)
        for point in (p for p in found if p not in crowd):
            mark = point.hue.style
            if crowd:  # variants of a method share theirs, and would look alike
                mark = style(panel.hues.index(point.hue))
                mark = replace(mark, colour=INK) if point.hue.label == self.base else mark
            look = stroke(replace(mark, hollow=mark.hollow or self._is_uncounted(point.hue)))
            row = pd.DataFrame([point[1:]], columns=["cost", "score", "spread"])
            look |= {"native_scale": True, "err_kws": {"linewidth": 0.8}}
            points(axes, row, "score", x="cost", y="score", **look)
        steps: dict[str, Any] = {"drawstyle": "steps-post", "color": INK, "linewidth": 0.8}
        line = {"x": [p.cost for p in best], "y": [p.score for p in best]}
        sns.lineplot(**line, zorder=1, ax=axes, **steps)
        for point in named:  # where others stand around it further away, with a line
            look = _ASIDE if crowd and point not in best else {"xytext": (4, 4)}
            at = (point.cost, point.score)
            axes.annotate(point.hue.label, at, textcoords="offset points", fontsize=7, **look)
        axes.margins(0.12)
        axes.set(xlabel=metric_label(self.cost), ylabel=metric_label(panel.metric))

    def remark(self, panels: Sequence[Panel]) -> str:
        """What grey points are, whose computation is not counted, and which hues have no point."""
        crowd = _CROWD if any(len(panel.hues) > MOST for panel in panels) else ""
        hues = [(hue, panel.title) for panel in panels for hue in panel.hues]
        lost = [f"{h.label} ({at})" if at else h.label for h, at in hues if h.diverged]
        hollow = dict.fromkeys(hue.label for hue, _ in hues if self._is_uncounted(hue))
        uncounted = f"{_HOLLOW}: {', '.join(hollow)}." if hollow else ""
        diverged = f"Not shown, because a run diverged: {', '.join(lost)}." if lost else ""
        return " ".join(filter(None, [crowd, uncounted, diverged]))

    def rows(self, hue: Hue) -> pd.DataFrame:
        """The point of a hue, and the spread of its score."""
        point = _point(hue, self.cost)
        return pd.DataFrame([point[1:]] if point else [], columns=[self.cost, "mean", "std"])

    def _is_uncounted(self, hue: Hue) -> bool:
        """Whether the hue's server computes what the cost leaves out."""
        if reading(self.cost).metric not in _COMPUTATION:
            return False
        parts = (registry.find("method", part.name) for part in hue.cells[0].run.parts)
        return any(part.constants.get("computes_at_server", False) for part in parts)

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """No legend where it could not tell the hues apart."""
        return [] if any(len(panel.hues) > MOST for panel in panels) else None


def _point(hue: Hue, cost: str) -> Point | None:
    """The hue's means; None unless every planned run has a score and a cost and none diverged."""
    scores, costs = hue.readings.set_index("run")["value"].dropna(), hue.collected.values(cost)
    if hue.diverged or not hue.planned <= {*scores.index} & costs.keys():
        return None
    mean, score = fmean(costs[run] for run in hue.planned), float(scores.mean())
    if not (isfinite(mean) and isfinite(score)):
        return None
    return Point(hue, mean, score, _over_seeds(hue.readings))


def _over_seeds(readings: pd.DataFrame) -> float:
    """The standard deviation over the seeds of a setting, pooled over the settings; 0 of one."""
    setting = [axis for axis in readings.columns if axis not in ("seed", "run", "value")]
    groups = readings.groupby(setting or (lambda _: 0))["value"]
    freedom = groups.count() - 1
    squares = float((groups.var() * freedom).sum())
    return (squares / freedom.sum()) ** 0.5 if freedom.any() else 0.0


def front(points: Sequence[Point], lower_is_better: bool) -> list[Point]:
    """The points of which no other costs at most as much and scores better, the cheapest first."""
    sign = -1 if lower_is_better else 1
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -sign * p.score)):
        if not best or sign * point.score > sign * best[-1].score:
            best.append(point)
    return best
