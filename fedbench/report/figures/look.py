"""What all figures share: colours and letters, and how a figure is written to a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fedbench.base.errors import FedbenchError
from fedbench.base.files import atomic
from fedbench.report.figures.fonts import placed

INK, PAPER = "#1a1b1e", "#fffffe"  # in a page's SVG they are replaced by the page's colours
LOOK: Any = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "axes.linewidth": 0.8,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK,
    "ytick.color": INK, "figure.facecolor": PAPER, "savefig.facecolor": PAPER,
    "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": INK, "grid.alpha": 0.12,
    "grid.linewidth": 0.6, "legend.frameon": False, "text.parse_math": False,
    "path.simplify": False, "pdf.fonttype": 42,  # letters stay letters, as publishers require
}  # fmt: skip
# What each format is saved with: no date or version, so that the same figure has the same bytes.
_SAVED: dict[str, Any] = {
    ".svg": {"metadata": {"Date": None, "Creator": None, "Format": None, "Type": None}},
    ".png": {"metadata": {"Software": None}, "dpi": 200},
    ".pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}


def write(draw: Callable[[], Figure], *files: Path) -> list[Path]:
    """Draw a figure and write it to each file in the format of its ending.

    The same figure gives the same bytes.

    Raises `FedbenchError` on an ending other than .svg, .png and .pdf.
    """
    for file in files:
        if file.suffix not in _SAVED:
            raise FedbenchError(f"{file}: a figure is written as one of {', '.join(_SAVED)}")
    with mpl.rc_context({**LOOK, "svg.hashsalt": files[0].stem}):
        figure = draw()
        _lay_out(figure)
        for file in files:
            with atomic(file) as path, placed():
                figure.savefig(path, format=file.suffix[1:], **_SAVED[file.suffix])
    return list(files)


def _lay_out(figure: Figure) -> None:
    """Lay a figure out once; one that keeps its engine is drawn twice, and anew, for each file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
