"""The legend below all panels: styles, and the runs that are missing or diverged."""

from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.panel import Hue

_LETTER, _HANDLE, _LINE = 0.068, 0.72, 0.19  # inches: a letter, handle and gaps, a line


@dataclass(frozen=True)
class Legend:
    """Entries in columns; `height` in inches."""

    entries: list[tuple[Artist, str]]
    columns: int

    @property
    def height(self) -> float:
        """What the legend takes below the panels."""
        return -(-len(self.entries) // self.columns) * _LINE if self.entries else 0.0

    def place(self, figure: Figure) -> None:
        """Put it below the axes."""
        if not self.entries:
            return
        handles, labels = zip(*self.entries, strict=True)
        look: dict[str, Any] = {"handlelength": 3.0, "columnspacing": 1.4, "borderaxespad": 0.2}
        look |= {"loc": "outside lower left", "ncols": self.columns}
        figure.legend(list(handles), list(labels), **look)


def explain(drawing: Drawing, width: float) -> Legend:
    """The figure's legend for a figure of that width; what its titles say already is left out."""
    own = drawing.kind.legend(drawing.panels)
    entries = _hues(drawing) if own is None else own
    longest = max((len(text) for _, text in entries), default=0)
    fitting = max(1, int(width / (longest * _LETTER + _HANDLE)))
    lines = -(-len(entries) // fitting) or 1
    return Legend(entries, -(-len(entries) // lines) or 1)  # as many columns as the lines need


def _hues(drawing: Drawing) -> list[tuple[Artist, str]]:
    found: dict[str, list[Hue]] = {}
    for hue in (hue for panel in drawing.panels for hue in panel.hues):
        found.setdefault(hue.label, []).append(hue)
    entries = [(drawing.kind.handle(own[0]), _text(own)) for own in found.values()]
    titles = {panel.title for panel in drawing.panels}
    known = {
        label
        for label in found
        if drawing.kind.named or label in titles or f", {label}" in drawing.title
    }
    return [
        e for e, label in zip(entries, found, strict=True) if e[1] != label or label not in known
    ]


def _text(own: list[Hue]) -> str:
    """The label, with the runs that are missing or diverged."""
    planned = set().union(*(hue.planned for hue in own))
    found = {cell.run.id for hue in own for cell in hue.found}
    unit = "seeds" if len(own) == 1 else "runs"
    lacking = f"{len(found)} of {len(planned)} {unit}" if len(found) < len(planned) else ""
    diverged = len(set().union(*(hue.diverged for hue in own)))
    ended = f"{diverged} diverged" if diverged else ""
    remarks = ", ".join(text for text in (lacking, ended) if text)
    return f"{own[0].label} ({remarks})" if remarks else own[0].label
