"""Points coloured by class, and the legend that names the classes."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fedbench.report.figures.styles import style

_MOST = 20  # classes that a legend has room for


def scatter(axes: Axes, points: pd.DataFrame, at: tuple[str, str], **look: Any) -> None:
    """Draw the points of a table with a column `label`, each class in its own style."""
    labels = points["label"].astype(int)
    for label in sorted(set(labels.tolist())):
        of_class = points[labels == label]
        mark = style(label)
        axes.scatter(
            of_class[at[0]], of_class[at[1]], color=mark.colour, marker=mark.marker, **look
        )


def legend(tables: Iterable[pd.DataFrame], **look: Any) -> list[tuple[Artist, str]]:
    """One entry per class; no entry where there are more than a legend has room for."""
    seen = [table["label"].astype(int).tolist() for table in tables if len(table)]
    labels = sorted({label for labels in seen for label in labels})
    marks = [(label, style(label)) for label in labels if len(labels) <= _MOST]
    return [
        (Line2D([], [], linestyle="", color=m.colour, marker=m.marker, **look), f"class {label}")
        for label, m in marks
    ]
