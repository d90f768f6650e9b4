"""Points coloured by class: which classes there are, and the style of each."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fedbench.report.figures.styles import style

_MOST = 20  # classes that a legend can name


def scatter(axes: Axes, points: pd.DataFrame, at: tuple[str, str], **look: Any) -> None:
    """The points of a table with a column `label`, each class in its look."""
    labels = points["label"].astype(int)
    for label in sorted(set(labels.tolist())):
        own = points[labels == label]
        mark = style(label)
        axes.scatter(own[at[0]], own[at[1]], color=mark.colour, marker=mark.marker, **look)


def legend(tables: Iterable[pd.DataFrame], **look: Any) -> list[tuple[Artist, str]]:
    """An entry a class; none where there are more than a legend can name."""
    found = [table["label"].astype(int).tolist() for table in tables if len(table)]
    labels = sorted({label for own in found for label in own})
    marks = [(label, style(label)) for label in labels if len(labels) <= _MOST]
    return [
        (Line2D([], [], linestyle="", color=m.colour, marker=m.marker, **look), f"class {label}")
        for label, m in marks
    ]
