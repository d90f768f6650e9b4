"""What one local round does to each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from fedbench.base.checked import Count
from fedbench.report.figures.kind import Kind, filling
from fedbench.report.figures.look import INK
from fedbench.report.figures.panel import Hue, Panel


@dataclass(frozen=True)
class Changes(Kind):
    """The probe `changes`: accuracy after minus before by class, beside the client's class counts.

    The first `clients` that all hues' last watched rounds have in common, of one seed; classes in
    the order of their counts (ASD paper, Fig. 1).
    """

    reads: ClassVar[str] = "changes"
    size: ClassVar[tuple[float, float]] = (2.6, 1.8)
    alone: ClassVar[tuple[float, float]] = (5.6, 2.6)

    clients: Count = 2

    def parts(self, panels: Sequence[Panel]) -> tuple[str, ...]:
        """The clients."""
        found = [set(_last(hue)["client"]) for panel in panels for hue in panel.hues if _has(hue)]
        common = sorted(set.intersection(*found)) if found else []
        return tuple(f"Client {int(client)}" for client in common[: self.clients]) or ("",)

    def draw(self, axes: Axes, panel: Panel) -> None:
        """Bars by class and hue, in points; the class and the client's samples of it below."""
        client = int(panel.part.removeprefix("Client "))
        tables = {hue: _of(client, hue) for hue in panel.hues if _has(hue)}
        counts = next(iter(tables.values()))["count"]
        places, width = np.arange(len(counts)), 0.8 / len(tables)
        first = -(len(tables) - 1) / 2
        for i, (hue, own) in enumerate(tables.items()):
            change = 100 * (own["after"] - own["before"]).loc[counts.index]
            axes.bar(places + (first + i) * width, change, width, **_look(hue))
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xticks(places, [f"{label}\n{n}" for label, n in counts.items()], fontsize=6)
        axes.set_ylim(-100, 100)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("Class and its samples")
        axes.set_ylabel("Change (points)")

    def handle(self, hue: Hue) -> Artist:
        """A patch."""
        return Patch(**_look(hue))


def _has(hue: Hue) -> bool:
    return not hue.table("changes").empty


def _last(hue: Hue) -> pd.DataFrame:
    table = hue.first("changes")
    last: pd.DataFrame = table[table["round"] == table["round"].max()]
    return last


def _of(client: int, hue: Hue) -> pd.DataFrame:
    """One client's classes, the most frequent first."""
    table = _last(hue)
    own = table[table["client"] == client].astype({"label": int, "count": int})
    return own.sort_values(["count", "label"], ascending=[False, True]).set_index("label")


def _look(hue: Hue) -> dict[str, Any]:
    return filling(hue.style, 0.4 if hue.style.hollow else 1.0)
