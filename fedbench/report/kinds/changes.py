"""How one round of local training changes the accuracy on each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from fedbench.base.checks import Count
from fedbench.report.figures.panels import Artist, Axes, Hue, Kind, Panel, Patch
from fedbench.report.figures.style import INK, bars, filling


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
    """One client's classes, the most frequent first."""
    table = _last(hue)
    rows = table[table["client"] == client].astype({"label": int, "count": int})
    return rows.sort_values(["count", "label"], ascending=[False, True]).set_index("label")
