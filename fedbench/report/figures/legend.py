"""The legend below all panels: one entry per style, with the runs missing or diverged."""

from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.panel import Hue

_LETTER, _HANDLE, _LINE = 0.068, 0.9, 0.19  # inches: a letter, handle and gaps, a line


@dataclass(frozen=True)
class Legend:
    """The entries of a legend and in how many columns they stand."""

    entries: list[tuple[Artist, str]]
    columns: int

    @property
    def height(self) -> float:
        """Inches that the legend takes below the panels."""
        return -(-len(self.entries) // self.columns) * _LINE if self.entries else 0.0

    def place(self, figure: Figure) -> None:
        """Put it below the axes."""
        if not self.entries:
            return
        handles, labels = zip(*self.entries, strict=True)
        look: dict[str, Any] = {"handlelength": 4.4, "columnspacing": 1.4, "borderaxespad": 0.2}
        look |= {"loc": "outside lower left", "ncols": self.columns}
        figure.legend(list(handles), list(labels), **look)


def explain(drawing: Drawing, width: float) -> Legend:
    """The legend of a figure `width` inches wide, without what its titles already say."""
    of_kind = drawing.kind.legend(drawing.panels)
    entries = _hues(drawing) if of_kind is None else of_kind
    longest = max((len(text) for _, text in entries), default=0)
    fitting = max(1, int(width / (longest * _LETTER + _HANDLE)))
    lines = -(-len(entries) // fitting) or 1
    return Legend(entries, -(-len(entries) // lines) or 1)  # the columns that so many lines need


def remarked(drawing: Drawing) -> dict[str, str]:
    """By the label of each hue, what the legend says of it: 'FedAvg (1 diverged)'."""
    return {label: _text(hues) for label, hues in _by_label(drawing).items()}


def _by_label(drawing: Drawing) -> dict[str, list[Hue]]:
    by_label: dict[str, list[Hue]] = {}
    for hue in (hue for panel in drawing.panels for hue in panel.hues):
        by_label.setdefault(hue.label, []).append(hue)
    return by_label


def _hues(drawing: Drawing) -> list[tuple[Artist, str]]:
    by_label = _by_label(drawing)
    entries = [(drawing.kind.handle(hues[0]), _text(hues)) for hues in by_label.values()]
    titles = {panel.title for panel in drawing.panels}
    in_titles = {
        label
        for label in by_label
        if drawing.kind.named or label in titles or f", {label}" in drawing.title
    }
    return [
        e
        for e, label in zip(entries, by_label, strict=True)
        if e[1] != label or label not in in_titles
    ]


def _text(hues: list[Hue]) -> str:
    """The label, with how many runs there are if some are missing, and how many diverged."""
    planned = set().union(*(hue.planned for hue in hues))
    measured = {cell.run_id for hue in hues for cell in hue.measured}
    unit = "seeds" if len(hues) == 1 else "runs"
    lacking = f"{len(measured)} of {len(planned)} {unit}" if len(measured) < len(planned) else ""
    diverged = len(set().union(*(hue.diverged for hue in hues)))
    ended = f"{diverged} diverged" if diverged else ""
    remarks = ", ".join(text for text in (lacking, ended) if text)
    return f"{hues[0].label} ({remarks})" if remarks else hues[0].label
