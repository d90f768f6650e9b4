"""Numbers as bars, points or bubbles: of runs, over the levels of an axis, by class, by client."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns
from numpy.typing import NDArray

from fedbench.base.checks import Count, Natural
from fedbench.base.errors import FedbenchError
from fedbench.paper.yaml_notation import Level, level_text
from fedbench.report.figures.layout import entitle
from fedbench.report.figures.panels import Axes, Figure, Hue, Kind, Panel, metric_label
from fedbench.report.figures.style import BLUE, INK, bars, filling, stroke
from fedbench.report.values.numbers import axis_name, fixed, point_name

_GROUP = 0.82  # of a group, where neighbours are 1 apart
_TITLES = {"C": "Share of clients C", "participation": "Share of clients"}
_ROW = 70  # characters of groups' names that have room beside each other
_NARROW = 0.2  # of a group's width: the number above a narrower bar is turned upright


@dataclass(frozen=True)
class Bars(Kind):
    """A metric as bars with the spread over the seeds; `axis` makes one group of bars per level.

    With `hue: metric` there is one bar per metric (FedADC paper, Fig. 7). The thin line is one
    sample standard deviation on either side, the number the mean.
    """

    alone: ClassVar[tuple[float, float]] = (4.2, 2.7)
    fill: ClassVar[float | None] = 0

    axis: str = ""

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Groups of bars that start at zero, each with its number above it."""
        count, cells = len(panel.hues), (cell for hue in panel.hues for cell in hue.cells)
        groups = list(dict.fromkeys(c.coords[self.axis] if self.axis else "" for c in cells))
        values: dict[tuple[int, int], pd.Series[float]] = {}
        for (i, hue), (j, group) in product(enumerate(panel.hues), enumerate(groups)):
            read = hue.readings
            of_group = read[read[self.axis] == group] if self.axis and len(read) else read
            if len(of_group):
                values[i, j] = of_group["value"]
        finite = {at: of for at, of in values.items() if np.isfinite(of).all()}  # others: no mean
        # where each group is of one hue, as of the axis `method`, its bar has all the width
        apart = not self.axis or len({j for _, j in values}) < len(values)
        rows = [(panel.hues[i].label, j, x) for (i, j), of in finite.items() for x in of]
        bars(
            axes, pd.DataFrame(rows, columns=["hue", "group", "value"]),
            {hue.label: filling(hue.style) for hue in panel.hues}, x="group", y="value",
            order=range(len(groups)), width=_GROUP, gap=0.08, errorbar="sd", capsize=0.15,
            dodge=apart, err_kws={"color": INK, "linewidth": 0.9},
        )  # fmt: skip
        wide = _GROUP / count if apart else _GROUP
        places = [(i - (count - 1) / 2) * wide if apart else 0.0 for i in range(count)]
        look: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 7.5}
        look["rotation"] = 90 if wide < _NARROW else 0
        for (i, j), of in values.items():
            mean, std = (float(f(skipna=False)) for f in (of.mean, of.std))
            top = mean + (std if np.isfinite(std) else 0) if np.isfinite(mean) else 0
            text = fixed(mean, 1 if panel.hues[i].factor == 100 else 2)
            axes.annotate(text, (j + places[i], top), (0, 3), **look)
        self._name(axes, panel, groups, places)
        axes.margins(y=0.18)
        labels = list(dict.fromkeys(metric_label(hue.metric) for hue in panel.hues))
        scores = all(text.endswith("(%)") for text in labels)
        common = "Test accuracy" if all("Test accuracy" in text for text in labels) else "Value"
        of_several = f"{common} (%)" if scores else "Value"
        axes.set(xlabel="", ylabel=of_several if labels[1:] else labels[0])

    def _name(self, axes: Axes, panel: Panel, groups: list[Level], places: list[float]) -> None:
        """Say below them what groups or, without an axis, bars are of."""
        if not self.axis:
            axes.set_xticks(places, [textwrap.fill(x.label, 14) for x in panel.hues], fontsize=7)
            return
        room = max(8, _ROW // len(groups))
        whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        names = [textwrap.fill(point_name(self.axis, x), room, **whole) for x in groups]
        small: dict[str, Any] = {"fontsize": 7} if "\n" in "".join(names) else {}
        axes.set_xticks(range(len(groups)), names, **small)

    @property
    def named(self) -> bool:
        """Whether bars are named below them: where there are no groups."""
        return not self.axis


@dataclass(frozen=True)
class Levels(Kind):
    """One line per hue over the levels of `axis`, which must be numbers; `log`: a logarithmic axis.

    Points are means over the seeds, bars one sample standard deviation on either side.
    """

    shared: ClassVar[bool] = True

    axis: str = "participation"
    log: bool = False

    def require(self, panel: Panel) -> None:
        """Refuse levels that are no numbers."""
        levels = {cell.coords[self.axis] for hue in panel.hues for cell in hue.cells}
        if words := [level_text(level) for level in levels if isinstance(level, str | bool)]:
            raise FedbenchError(
                f"figure kind levels: axis = '{self.axis}': level '{words[0]}' must be a number"
            )

    def draw(self, axes: Axes, panel: Panel) -> None:
        """One line per hue; a level of which a run has no finite number breaks it."""
        if self.log:
            axes.set_xscale("log")
            axes.minorticks_off()
        for hue in panel.hues:
            rows = hue.readings
            if len(rows):
                known = np.isfinite(rows["value"]).groupby(rows[self.axis]).transform("all")
                sns.pointplot(
                    rows.assign(value=rows["value"].where(known)), x=self.axis, y="value",
                    errorbar="sd", native_scale=True, capsize=0.08, err_kws={"linewidth": 1.6},
                    linewidth=1.6, ax=axes, **stroke(hue.style),
                )  # fmt: skip
        ticks = sorted({float(c.coords[self.axis]) for hue in panel.hues for c in hue.cells})
        axes.set_xticks(ticks, [level_text(level) for level in ticks])
        title = _TITLES.get(self.axis, axis_name(self.axis))
        axes.set(xlabel=title, ylabel=metric_label(panel.metric))


@dataclass(frozen=True)
class Changes(Kind):
    """Accuracy after minus before, by class, from the probe `changes` (ASD paper, Fig. 1).

    Of the clients that trained in the last watched round of every hue, the first `clients` are
    shown, of one seed. Classes stand in the order of the client's samples of them, most first.
    """

    reads: ClassVar[str] = "changes"
    size: ClassVar[tuple[float, float]] = (2.6, 1.8)
    alone: ClassVar[tuple[float, float]] = (5.6, 2.6)
    fill: ClassVar[float | None] = 0

    clients: Count = 2

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The clients, as 'Client 3'."""
        tables = [_last_round(hue) for panel in panels for hue in panel.hues]
        trained = [{*table["client"]} for table in tables if len(table)]
        common = sorted(set.intersection(*trained)) if trained else []
        if trained and not common:
            raise FedbenchError(
                "figure kind changes: no client trained in the last watched round of all its runs; "
                "let `where` name fewer of them"
            )
        return tuple(f"Client {int(client)}" for client in common[: self.clients]) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Bars by class and hue, in points; below them the class and the client's samples of it."""
        tables = {hue: table for hue in panel.hues if len(table := _last_round(hue))}
        rows = pd.concat(tables.values(), ignore_index=True).astype({"label": int, "count": int})
        rows = rows[rows["client"] == int(panel.part.removeprefix("Client "))]
        rows = rows.assign(change=100 * (rows["after"] - rows["before"]))
        first = rows[rows["hue"] == next(iter(tables)).label]
        shown = first.sort_values(["count", "label"], ascending=[False, True])
        looks, order = {hue.label: filling(hue.style) for hue in tables}, list(shown["label"])
        bars(axes, rows, looks, x="label", y="change", order=order, width=0.8, errorbar=None)
        axes.axhline(0, color=INK, linewidth=0.8)
        ticks = [f"{label}\n{n}" for label, n in zip(order, shown["count"], strict=True)]
        axes.set_xticks(range(len(ticks)), ticks, fontsize=6)
        axes.set(ylim=(-100, 100), xlabel="Class and number of samples", ylabel="Change (points)")


def _last_round(hue: Hue) -> pd.DataFrame:
    table = hue.first("changes")
    return table if table.empty else table[table["round"] == table["round"].max()]


# Inches: all panels together, a column or row where there is room, the least width of the figure,
# which has room for its title, and the margins around and between the panels.
_ACROSS, _UP, _CELL, _LEAST = 6.0, 6.0, 0.19, 4.0
_LEFT, _RIGHT, _BELOW, _ABOVE, _BETWEEN = 0.5, 0.9, 0.5, 0.48, 0.15
_ROUND = [step * 10**power for power in range(10) for step in (1, 2, 5)]  # samples in the key
_BUBBLE: Any = {"color": BLUE, "alpha": 0.75, "linewidth": 0}


@dataclass(frozen=True)
class Bubbles(Kind):
    """One bubble per class and client, one run per panel; only the `first` clients (0: all).

    RMFL paper, Fig. 6, and FedGKD paper, Fig. 3.
    """

    reads: ClassVar[str] = "clients"
    apart: ClassVar[bool] = True

    first: Natural = 30

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The panels side by side, all bubbles at one scale."""
        drawn = []
        for panel in panels:
            held = panel.hues[0].first(self.reads)
            counts = np.zeros((held["client"].max() + 1, held["label"].max() + 1), dtype=np.int64)
            counts[held["client"], held["label"]] = held["count"]
            drawn.append((panel.title, counts))
        return draw_partitions(drawn, title, self.first or None)


def draw_partitions(
    panels: Sequence[tuple[str, NDArray[np.int64]]], title: str = "", first: int | None = None
) -> Figure:
    """Draw named label counts (clients × classes) of the `first` clients side by side."""
    shown = [counts[:first] for _, counts in panels]
    clients, classes = [len(counts) for counts in shown], shown[0].shape[1]
    # inches of a client's column and of a class's row, which shrink where there are many
    across, up = min(_CELL, _ACROSS / sum(clients)), min(_CELL, _UP / classes)
    inner = across * sum(clients) + _BETWEEN * (len(clients) - 1)
    width, height = max(_LEAST, _LEFT + inner + _RIGHT), _BELOW + up * classes + _ABOVE
    most = max(int(counts.max()) for counts in shown)
    # square points per sample: the largest bubble is above a cell, as few are full
    scale = 1.2 * (72 * across) * (72 * up) / most
    figure = Figure((width, height))
    entitle(figure, [title], _LEFT)
    lefts = accumulate((across * n + _BETWEEN for n in clients), initial=_LEFT)
    for place, (left, (name, every), counts) in enumerate(zip(lefts, panels, shown, strict=False)):
        box = (left / width, _BELOW / height, across * len(counts) / width, up * classes / height)
        axes = figure.add_axes(box)
        _draw(axes, counts, scale)
        axes.set_title(name, fontsize=9)
        part = f" (first {len(counts)} of {len(every)})" if len(counts) < len(every) else ""
        axes.set(xlabel=f"client{part}", ylabel="" if place else "class")
        axes.tick_params(labelleft=not place)
    parts = [most / part for part in (1, 4, 20) if most >= part]
    key = dict.fromkeys(max(n for n in _ROUND if n <= part) for part in parts)
    marks = [axes.scatter([], [], s=n * scale, label=f"{n:,}", **_BUBBLE) for n in key]
    where: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "borderaxespad": 0.6}
    axes.legend(handles=marks, title="samples", labelspacing=0.9, scatterpoints=1, **where)
    return figure


def _draw(axes: Axes, counts: NDArray[np.int64], scale: float) -> None:
    """One panel; `scale` is the area per sample, in square points."""
    client, label = np.nonzero(counts)
    held, most = counts[client, label], int(counts.max())
    sns.scatterplot(
        x=client, y=label, size=held, sizes=(0, most * scale), size_norm=(0, most), legend=False,
        clip_on=False, ax=axes, **_BUBBLE,
    )  # fmt: skip
    axes.set(xlim=(-0.5, len(counts) - 0.5), ylim=(-0.5, counts.shape[1] - 0.5))
    axes.locator_params(axis="x", nbins=7, steps=[1, 2, 5, 10], integer=True)
    axes.locator_params(axis="y", nbins=10, steps=[1, 2, 5, 10], integer=True)
