"""Which client holds how many samples of which class: bubbles whose area is the count."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import seaborn as sns
from numpy.typing import NDArray

from fedbench.base.checks import Natural
from fedbench.report.figures.layout import blank, entitle
from fedbench.report.figures.panels import Axes, Figure, Kind, Panel
from fedbench.report.figures.style import BLUE

# Inches: all panels together, a column or row where there is room, the least width of the figure,
# which has room for its title, and the margins around and between the panels.
_WIDTH, _HEIGHT, _CELL, _LEAST = 6.0, 6.0, 0.19, 4.0
_LEFT, _RIGHT, _BELOW, _ABOVE, _BETWEEN = 0.5, 0.9, 0.5, 0.48, 0.15
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
        drawn = [(panel.title, self._counts(panel)) for panel in panels]
        return draw_partitions(drawn, title, self.first or None)

    def _counts(self, panel: Panel) -> NDArray[np.int64]:
        table = panel.hues[0].first(self.reads)
        counts = np.zeros((table["client"].max() + 1, table["label"].max() + 1), dtype=np.int64)
        counts[table["client"], table["label"]] = table["count"]
        return counts


def draw_partitions(
    panels: Sequence[tuple[str, NDArray[np.int64]]], title: str = "", first: int | None = None
) -> Figure:
    """Draw partitions of the same data side by side, all bubbles at one scale.

    Each panel is a partition's name and its label counts (clients × classes), of which only those
    of the `first` clients are shown (None: all). One colour, so that it reads in grey.
    """
    shown = [counts[:first] for _, counts in panels]
    clients, classes = [len(counts) for counts in shown], shown[0].shape[1]
    # inches of a client's column and of a class's row, which shrink where there are many
    across, up = min(_CELL, _WIDTH / sum(clients)), min(_CELL, _HEIGHT / classes)
    inner = across * sum(clients) + _BETWEEN * (len(clients) - 1)
    width, height = max(_LEAST, _LEFT + inner + _RIGHT), _BELOW + up * classes + _ABOVE
    most = max(int(counts.max()) for counts in shown)
    largest = 1.2 * (72 * across) * (72 * up)  # square points: above a cell, as few are full
    figure = blank(width, height)
    entitle(figure, [title], _LEFT)
    lefts = accumulate((across * n + _BETWEEN for n in clients), initial=_LEFT)
    for place, (left, (name, every), counts) in enumerate(zip(lefts, panels, shown, strict=False)):
        box = (left / width, _BELOW / height, across * len(counts) / width, up * classes / height)
        axes = figure.add_axes(box)
        _draw(axes, counts, largest / most)
        axes.set_title(name, fontsize=9)
        part = f" (first {len(counts)} of {len(every)})" if len(counts) < len(every) else ""
        axes.set_xlabel(f"client{part}")
        axes.set_ylabel("" if place else "class")
        axes.tick_params(labelleft=not place)
    _explain(axes, largest / most, most)
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


def _explain(axes: Axes, scale: float, most: int) -> None:
    counts = dict.fromkeys(_round_down(most / part) for part in (1, 4, 20) if most >= part)
    key = [axes.scatter([], [], s=n * scale, label=f"{n:,}", **_BUBBLE) for n in counts]
    where: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "borderaxespad": 0.6}
    axes.legend(handles=key, title="samples", labelspacing=0.9, scatterpoints=1, **where)


def _round_down(value: float) -> int:
    """The largest of 1, 2, 5, 10, 20, 50, … that is not above `value`."""
    power: int = 10 ** int(np.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value)
