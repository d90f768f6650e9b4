"""How far each method is ahead of one of them: a leaderboard that says what chance explains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
import seaborn as sns

from fedbench.base.errors import FedbenchError
from fedbench.paper.metrics import Metric
from fedbench.report.figures.layout import listed, name_lines
from fedbench.report.figures.panels import Axes, Entries, Figure, Hue, Kind, Panel, stacked
from fedbench.report.figures.style import GREY, INK, Style, points, stroke
from fedbench.report.values.leads import Leads, leads
from fedbench.spec.compositions import own_methods

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
        "same seed, each for its method alone; at an arrow they go on. Filled: significant at 5 % "
        "among all methods together (Westfall and Young's max-T test over all flips of signs, with "
        "three seeds in each of several settings, or ten in one). Squares are not tested: a run "
        "diverged or is near chance, or its settings are not settled. Luck in tuning is not "
        "included. Methods that lack a run are left out; your own are in bold."
    )

    lack: ClassVar[str] = "too few seeds are finished"

    base: str = "FedAvg"
    untested: tuple[str, ...] = ()  # hues whose settings are not settled: shown, and not tested

    def has(self, panel: Panel) -> bool:
        """Whether there are two seeds of the base and of another hue."""
        return self._leads(panel) is not None

    def absence(self, panel: Panel) -> str:
        """Whether seeds are too few, or runs of a mean over settings are missing."""
        if not panel.measured or _block(panel) == ["seed"]:
            return super().absence(panel)
        if any(map(_is_whole, panel.hues)):
            return f"needs all runs of {self.base} and of another method"
        return "no method has all its runs"

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The panels side by side, each as high as its methods need."""
        found = [(panel, lead) for panel in panels if (lead := self._leads(panel))]
        names = [[str(name) for name in lead.mean.index] for _, lead in found]
        figure, columns = listed(title, names, _WIDE, free=1.5)
        for axes, each in zip(columns, found, strict=True):
            self._draw(axes, *each)
        return figure

    def numbers(self, panels: Sequence[Panel]) -> pd.DataFrame:
        """One row per panel and hue: its lead, its interval, its p-value among all."""
        found = [(panel, lead) for panel in panels if (lead := self._leads(panel))]
        return stacked(self._rows(*each) for each in found)

    def _rows(self, panel: Panel, lead: Leads) -> pd.DataFrame:
        ahead = lead.mean.drop(self.base)
        names, half = ahead.index, lead.half[ahead.index]
        told: dict[str, Any] = {
            "panel": panel.title,
            "metric": panel.metric,
            "name": names,
            "base": self.base,
            "lead": ahead.to_numpy(),
            "low95": (ahead - half).to_numpy(),
            "high95": (ahead + half).to_numpy(),
            "p": lead.p[names].to_numpy(),
            "significant": [lead.tells(str(name)) for name in names],
            "collapsed": [name in lead.collapsed for name in names],
            "pairs": lead.blocks,
        }
        return pd.DataFrame(told)

    def legend(self, panels: Sequence[Panel]) -> Entries | None:
        """None is needed: each line has its name."""
        return []

    def _leads(self, panel: Panel) -> Leads | None:
        if self.base not in {hue.label for hue in panel.hues}:
            raise FedbenchError(
                f"figure kind lead: base = '{self.base}' is not among what is drawn"
            )
        sign, block = -1 if Metric(panel.metric).lower_is_better else 1, _block(panel)
        of_hue = {
            hue.label: sign * hue.readings.set_index(block)["value"]
            for hue in panel.hues
            if (len(hue.readings) if block == ["seed"] else _is_whole(hue))
        }
        collapsed = {x.label for x in panel.hues if x.label in self.untested or _collapsed(x)}
        return leads(pd.DataFrame(of_hue), self.base, collapsed) if of_hue else None

    def _draw(self, axes: Axes, panel: Panel, lead: Leads) -> None:
        names = [str(name) for name in lead.mean.index]
        rows = pd.DataFrame({"name": names, "lead": lead.mean.to_numpy()})
        rows["half"] = [float("nan") if x == self.base else lead.half[x] for x in names]
        rows["told"] = [lead.tells(name) for name in names]
        rows["collapsed"] = [name in lead.collapsed for name in names]
        for (told, collapsed), alike in rows.groupby(["told", "collapsed"]):
            look = stroke(Style(INK if told else GREY, "", "s" if collapsed else "o", not told))
            points(
                axes, alike, ("name", "lead"), "half", orient="y", order=names, capsize=0.35, **look
            )
        room = 0.05 * (lead.mean.max() - lead.mean.min()) + 1.1 * lead.usual
        axes.set_xlim(lead.mean.min() - room, lead.mean.max() + room)
        _mark_cut(axes, rows)
        axes.axvline(0, color=INK, linewidth=0.8)
        name_lines(axes, names)
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() in own_methods() else "normal")
        unit = " (points)" if Metric(panel.metric).is_score else ""
        axes.set_xlabel(f"{Metric(panel.metric).label}:\nahead of {self.base}{unit}", fontsize=8)
        titles = [panel.title, f"{lead.blocks} pairs each", "" if lead.tested else "not tested"]
        axes.set_title(", ".join(filter(None, titles)), fontsize=8.5, loc="left")


def _mark_cut(axes: Axes, rows: pd.DataFrame) -> None:
    """Arrows where intervals go on beyond the panel's ends."""
    for end, sign, arrow in zip(axes.get_xlim(), (-1, 1), "<>", strict=True):
        cut = rows[sign * (rows["lead"] + sign * rows["half"] - end) > 0]
        look = {"color": GREY, "s": 14, "linewidth": 0, "marker": arrow, "clip_on": False}
        sns.scatterplot(x=[end] * len(cut), y=list(cut.index), ax=axes, **look)


def _collapsed(hue: Hue) -> bool:
    """Whether a run diverged, or is near chance where accuracies are compared."""
    if hue.diverged or not Metric(hue.metric).is_of_labels:
        return bool(hue.diverged)
    guess = hue.collected.guess_of(hue.cells[0].run.dataset)
    limit = guess.limit * hue.factor if guess else 0.0
    return bool((hue.readings["value"] < limit).any())


def _is_whole(hue: Hue) -> bool:
    return hue.planned <= {*hue.readings["run"]}


def _block(panel: Panel) -> list[str]:
    """The axes over whose levels a mean is taken, and the seed."""
    of_hue = [[cell.coords for cell in hue.cells] for hue in panel.hues]
    levels = {x: [len({str(at[x]) for at in coords}) for coords in of_hue] for x in of_hue[0][0]}
    return [*(axis for axis, numbers in levels.items() if max(numbers) > 1), "seed"]
