"""Draws mean ranks as a critical-difference diagram (Demšar, JMLR 2006), or as a list."""

import textwrap

import numpy as np
import pandas as pd
import seaborn as sns

from fedbench.report.figures.layout import entitle, listed, name_lines, remark, under, wrapped
from fedbench.report.figures.panels import Axes, Figure
from fedbench.report.figures.style import INK, styles
from fedbench.report.tables.ranks import MANY, RISK, Ranks
from fedbench.report.values.numbers import UNTESTED

_SCALE, _GLYPH = 3.0, 0.075  # inches: the scale of ranks, and a letter beside it
_LABEL, _AXIS = 26, 36  # letters in a line of a label beside the scale, and of the one below it
_LINE = 0.19  # inches that each line of a method's name takes


def draw(ranks: Ranks, title: str) -> Figure:
    """The diagram, or a list of methods where they are too many for one; controls are named."""
    names = {x: f"{x} (control)" if x in ranks.controls else str(x) for x in ranks.mean.index}
    if len(names) <= MANY:
        figure = _bars(ranks, names, title)
    else:  # a line per method with its mean rank; a band as wide as the critical difference
        lines = [*names.values()]
        figure, (axes,) = listed(title, [lines], 5.6, free=0.1 if ranks.test else 1.5)
        best = float(ranks.mean.iloc[0])
        if ranks.test:
            axes.axvspan(best, best + ranks.test.distance, color=INK, alpha=0.08, linewidth=0)
        sns.stripplot(x=ranks.mean.to_numpy(), y=lines, color=INK, size=5, jitter=False, ax=axes)
        name_lines(axes, lines)
        axes.set_xlim(0, len(lines) + 1)
        shaded = ", shaded: not told apart from the first" if ranks.test else ""
        axes.set_xlabel(textwrap.fill(f"Mean rank{shaded}", _AXIS))
    if ranks.test is None:
        remark(figure, UNTESTED)
    return figure


def _bars(ranks: Ranks, names: dict[str, str], title: str) -> Figure:
    said = {x: f"{name}  {ranks.mean[x]:.2f}" for x, name in names.items()}
    labels = {x: textwrap.fill(text, _LABEL) for x, text in said.items()}
    longest = max(len(line) for label in labels.values() for line in label.splitlines())
    width = _SCALE + 2 * _GLYPH * longest
    lines = wrapped(title, width - (0.1 if ranks.test else 1.5))
    rows = max(label.count("\n") + 1 for label in labels.values())
    figure = Figure((width, 1))
    axes = figure.subplots()
    axes.grid(visible=False)
    axes.spines["top"].set_visible(True)
    axes.set(xlim=(1, len(labels)), xticks=range(1, len(labels) + 1))
    axes.tick_params(labelsize=8)
    _diagram(ranks, labels, axes)
    low, high = axes.get_ylim()
    height = 0.55 + 0.18 * len(lines) + _LINE * rows * (high - low)
    figure.set_size_inches(width, height)
    figure.set_layout_engine(under(lines, height))
    entitle(figure, lines)
    return figure


def _diagram(ranks: Ranks, labels: dict[str, str], axes: Axes) -> None:
    from scikit_posthocs import critical_difference_diagram  # seconds that few commands need

    methods = list(ranks.mean.index)
    # p-values; 0, which joins no two methods, without a test
    pairs = ranks.test.pairs if ranks.test else pd.DataFrame(0.0, methods, methods)
    style_of = styles(methods)
    drawn = critical_difference_diagram(
        ranks.mean.rename(labels), pairs.rename(index=labels, columns=labels), alpha=RISK, ax=axes,
        label_fmt_left="{label}", label_fmt_right="{label}",
        label_props={"fontsize": 8.5, "va": "center"},
        elbow_props={"linewidth": 1.2, "clip_on": False},
        text_h_margin=0.06 * (len(labels) - 1),
        crossbar_props={"color": INK, "linewidth": 2.5, "solid_capstyle": "butt"},
        color_palette={labels[x]: style_of[x].colour for x in labels},
    )  # fmt: skip
    names = {label: name for name, label in labels.items()}
    for text, elbow in zip(drawn["labels"], drawn["elbows"], strict=True):
        style = style_of[names[text.get_text()]]
        elbow.set(linestyle=style.line, marker=style.marker, markevery=[2], markersize=5)
        text.set_color(INK)
        # each line a blank away from the stem, so that they stay aligned
        left, lines = text.get_horizontalalignment() == "right", text.get_text().splitlines()
        text.set_text("\n".join(f"{x} " if left else f" {x}" for x in lines))
    for marker in drawn["markers"]:
        marker.remove()  # the elbow ends in the method's marker
    for (bar,) in drawn["crossbars"]:
        bar.set_xdata(np.sort(bar.get_xdata()))  # their order changes from process to process
    axes.set_xlim(1, len(labels))
