"""Draws seconds per round of W1 to W5: bars are medians, whiskers end at the quartiles."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from speed.rows import Row, Spread

_COLOURS = {"fedbench": "#0072b2", "bare": "#999999", "peer": "#e69f00"}


def draw(rows: Sequence[Row], file: Path) -> None:
    """One panel per workload; rows without numbers are left out."""
    panels = {name: _shown(rows, name) for name in ("W1", "W2", "W3", "W4", "W5")}
    panels = {name: shown for name, shown in panels.items() if shown}
    if not panels:
        return
    height = sum(len(shown) for shown in panels.values()) * 0.32 + len(panels)
    sizes = [len(shown) for shown in panels.values()]
    style = {"svg.hashsalt": "speed", "svg.fonttype": "none"}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(
            len(panels), figsize=(8, height), squeeze=False, layout="constrained",
            gridspec_kw={"height_ratios": sizes},
        )  # fmt: skip
        for ax, (name, shown) in zip(axes[:, 0], panels.items(), strict=True):
            _panel(ax, name, shown)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _shown(rows: Sequence[Row], section: str) -> list[tuple[str, Spread]]:
    return [(row.name, row.seconds) for row in rows if row.section == section and row.seconds]


def _panel(ax: Axes, name: str, shown: Sequence[tuple[str, Spread]]) -> None:
    medians = [spread.median for _, spread in shown]
    whiskers = [[s.median - s.low for _, s in shown], [s.high - s.median for _, s in shown]]
    colours = [_COLOURS[_family(label)] for label, _ in shown]
    ax.barh([label for label, _ in shown], medians, xerr=whiskers, color=colours)
    ax.invert_yaxis()
    ax.set_title(name)
    ax.set_xlabel("seconds per round and run (shorter is faster)")
    ax.spines[["top", "right"]].set_visible(False)


def _family(label: str) -> str:
    return "bare" if "bare loop" in label else "fedbench" if "fedbench" in label else "peer"
