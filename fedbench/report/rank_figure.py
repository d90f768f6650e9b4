"""A critical-difference diagram: methods along their mean rank, bars over those not told apart."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from scikit_posthocs import critical_difference_diagram

from fedbench.report.look import INK, write
from fedbench.report.numbers import UNTESTED
from fedbench.report.ranks import RISK, Ranks
from fedbench.report.styles import styles

_WIDTH = 6.6  # inches
_LINE = 0.19  # inches that a method's line takes


def save(ranks: Ranks, title: str, stem: Path) -> list[Path]:
    """Write `<stem>.svg` and `<stem>.png`."""
    files = (stem.with_name(stem.name + ending) for ending in (".svg", ".png"))
    return write(lambda: draw(ranks, title), *files)


def draw(ranks: Ranks, title: str) -> Figure:
    """The diagram; controls say so beside their names."""
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.grid(visible=False)
    axes.spines["top"].set_visible(True)
    axes.spines["top"].set_bounds(1, len(ranks.mean))
    axes.xaxis.set_major_locator(MultipleLocator(1))
    _diagram(ranks, axes)
    low, high = axes.get_ylim()
    height = 0.75 + _LINE * (high - low)
    figure.set_size_inches(_WIDTH, height)
    figure.suptitle(title, fontsize=9.5, weight="bold", x=0.06 / _WIDTH, ha="left")
    if ranks.test is None:
        corner = (1 - 0.06 / _WIDTH, 1 - 0.04 / height)
        look = {"fontsize": 7.5, "style": "italic", "alpha": 0.75}
        figure.text(*corner, UNTESTED, look, ha="right", va="top")
    return figure


def _diagram(ranks: Ranks, axes: Axes) -> None:
    looks = styles(list(ranks.mean.index))
    names = {x: f"{x} (control)" if x in ranks.controls else x for x in ranks.mean.index}
    drawn = critical_difference_diagram(
        ranks.mean.rename(names),
        _pairs(ranks).rename(index=names, columns=names),
        alpha=RISK,
        ax=axes,
        label_fmt_left="{label}  {rank:.2f} ",
        label_fmt_right=" {rank:.2f}  {label}",
        label_props={"fontsize": 8.5},
        elbow_props={"linewidth": 1.1},
        text_h_margin=0.06 * (len(names) - 1),
        crossbar_props={"color": INK, "linewidth": 2.5, "solid_capstyle": "butt"},
        color_palette={names[x]: looks[x].colour for x in names},
    )
    for label in drawn["labels"]:
        label.set_color(INK)
    axes.tick_params(labelsize=8)


def _pairs(ranks: Ranks) -> pd.DataFrame:
    """P of each pair; without a test no two are joined."""
    names = ranks.mean.index
    return ranks.test.pairs if ranks.test else pd.DataFrame(0.0, index=names, columns=names)
