"""Bars or points of numbers by hue: of runs, over the levels of an axis, by class."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.paper.notation import Level, level_text
from fedbench.report.figures.panels import Artist, Axes, Hue, Kind, Panel, Patch, metric_label
from fedbench.report.figures.style import INK, bars, filling, stroke
from fedbench.report.values.numbers import axis_title, fixed, point_name

_WIDTH = 0.82  # of a group, where neighbours are 1 apart
_NARROW = 0.2  # of a group's width: the number above a narrower bar is turned upright


@dataclass(frozen=True)
class Bars(Kind):
    """A metric as bars with the spread over the seeds; `axis` makes one group of bars per level.

    With `hue: metric` there is one bar per metric (FedADC paper, Fig. 7). The thin line is one
    sample standard deviation on either side, the number the mean.
    """

    alone: ClassVar[tuple[float, float]] = (4.2, 2.7)

    axis: str = ""

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Groups of bars that start at zero."""
        cells, count = [cell for hue in panel.hues for cell in hue.cells], len(panel.hues)
        groups = list(dict.fromkeys(c.coords[self.axis] if self.axis else "" for c in cells))
        values = {
            (i, j): x for i, hue in enumerate(panel.hues) for j, x in self._values(hue, groups)
        }
        finite = {at: of for at, of in values.items() if np.isfinite(of).all()}  # others: no mean
        rows = [(panel.hues[i].label, j, x) for (i, j), of in finite.items() for x in of]
        bars(
            axes, pd.DataFrame(rows, columns=["hue", "group", "value"]), ("group", "value"),
            {hue.label: filling(hue.style) for hue in panel.hues}, order=range(len(groups)),
            width=_WIDTH, gap=0.08, errorbar="sd", capsize=0.15,
            err_kws={"color": INK, "linewidth": 0.9},
        )  # fmt: skip
        places = [(i - (count - 1) / 2) * _WIDTH / count for i in range(count)]
        for (i, j), of in values.items():
            _write(axes, j + places[i], of, panel.hues[i], narrow=_WIDTH / count < _NARROW)
        if self.axis:
            axes.set_xticks(range(len(groups)), [point_name(self.axis, g) for g in groups])
        else:
            names = [textwrap.fill(hue.label, 14) for hue in panel.hues]
            axes.set_xticks(places, names, fontsize=7)
        axes.margins(y=0.18)
        axes.set(xlabel="", ylabel=_label(panel))

    @property
    def named(self) -> bool:
        """Whether bars are named below them: where there are no groups."""
        return not self.axis

    def handle(self, hue: Hue) -> Artist:
        """A filled rectangle."""
        return Patch(**filling(hue.style))

    def _values(self, hue: Hue, groups: list[Level]) -> Iterator[tuple[int, "pd.Series[float]"]]:
        """The values of each group that has some, with the group's place."""
        rows = hue.readings
        for place, group in enumerate(groups):
            of = rows[rows[self.axis] == group] if self.axis and len(rows) else rows
            if len(of):
                yield place, of["value"]


def _write(axes: Axes, at: float, values: "pd.Series[float]", hue: Hue, *, narrow: bool) -> None:
    mean, std = (float(f(skipna=False)) for f in (values.mean, values.std))
    top = mean + (std if np.isfinite(std) else 0) if np.isfinite(mean) else 0
    text = fixed(mean, 1 if hue.factor == 100 else 2)
    look: dict[str, Any] = {"rotation": 90 if narrow else 0, "ha": "center", "fontsize": 7.5}
    axes.annotate(text, (at, top), (0, 3), textcoords="offset points", **look)


def _label(panel: Panel) -> str:
    labels = dict.fromkeys(metric_label(hue.metric) for hue in panel.hues)
    if len(labels) == 1:
        return next(iter(labels))
    return "Test accuracy (%)" if all(text.endswith("(%)") for text in labels) else "Value"


@dataclass(frozen=True)
class Levels(Kind):
    """One line per hue over the levels of `axis`, which must be numbers; `log`: a logarithmic axis.

    Points are means over the seeds, bars one sample standard deviation on either side.
    """

    shared: ClassVar[bool] = True

    axis: str = "participation"
    log: bool = False

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per hue; a level of which a run has no finite number breaks it."""
        levels = self._levels(panel)
        if self.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        for hue in panel.hues:
            if hue.measured and len(hue.readings):
                self._line(axes, hue)
        axes.set_xticks(levels, [level_text(level) for level in levels])
        axes.set_xlabel(axis_title(self.axis))
        axes.set_ylabel(metric_label(panel.metric))

    def _line(self, axes: Axes, hue: Hue) -> None:
        rows = hue.readings
        known = np.isfinite(rows["value"]).groupby(rows[self.axis]).transform("all")
        sns.pointplot(
            rows.assign(value=rows["value"].where(known)), x=self.axis, y="value", errorbar="sd",
            native_scale=True, capsize=0.08, err_kws={"linewidth": 1.6}, linewidth=1.6, ax=axes,
            **stroke(hue.style),
        )  # fmt: skip

    def _levels(self, panel: Panel) -> list[float]:
        levels = {cell.coords[self.axis] for hue in panel.hues for cell in hue.cells}
        for level in levels:
            if isinstance(level, str | bool):
                raise FedbenchError(
                    f"figure kind levels: axis '{self.axis}' has the level '{level_text(level)}'; "
                    "all its levels must be numbers"
                )
        return sorted(float(level) for level in levels)


@dataclass(frozen=True)
class Changes(Kind):
    """Accuracy after minus before, by class, from the probe `changes` (ASD paper, Fig. 1).

    Of the clients that trained in the last watched round of every hue, the first `clients` are
    shown, of one seed. Classes stand in the order of the client's samples of them, most first.
    """

    reads: ClassVar[str] = "changes"
    size: ClassVar[tuple[float, float]] = (2.6, 1.8)
    alone: ClassVar[tuple[float, float]] = (5.6, 2.6)

    clients: Count = 2

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The clients, as 'Client 3'."""
        trained = [set(_last(hue)["client"]) for panel in panels for hue in panel.hues if _has(hue)]
        common = sorted(set.intersection(*trained)) if trained else []
        return tuple(f"Client {int(client)}" for client in common[: self.clients]) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Bars by class and hue, in points; below them the class and the client's samples of it."""
        client = int(panel.part.removeprefix("Client "))
        tables = {hue: _of(client, hue) for hue in panel.hues if _has(hue)}
        counts = next(iter(tables.values()))["count"]
        rows = pd.concat([table.assign(hue=hue.label) for hue, table in tables.items()])
        rows["change"] = 100 * (rows["after"] - rows["before"])
        looks = {hue.label: filling(hue.style) for hue in tables}
        at, order = ("label", "change"), list(counts.index)
        bars(axes, rows.reset_index(), at, looks, order=order, width=0.8, errorbar=None)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xticks(
            range(len(counts)), [f"{label}\n{n}" for label, n in counts.items()], fontsize=6
        )
        axes.set_ylim(-100, 100)
        axes.set_xlabel("Class and number of samples")
        axes.set_ylabel("Change (points)")

    def handle(self, hue: Hue) -> Artist:
        """A filled rectangle."""
        return Patch(**filling(hue.style))


def _has(hue: Hue) -> bool:
    return not hue.table("changes").empty


def _last(hue: Hue) -> pd.DataFrame:
    table = hue.first("changes")
    last: pd.DataFrame = table[table["round"] == table["round"].max()]
    return last


def _of(client: int, hue: Hue) -> pd.DataFrame:
    table = _last(hue)
    rows = table[table["client"] == client].astype({"label": int, "count": int})
    return rows.sort_values(["count", "label"], ascending=[False, True]).set_index("label")
