"""The legend below all panels: one entry per style, with the runs missing or diverged."""

from dataclasses import dataclass
from typing import Any

from fedbench.report.figures.drawing import Drawing
from fedbench.report.figures.panels import Entries, Figure, Hue, Panel
from fedbench.report.values.numbers import level_name

_LETTER, _HANDLE, _LINE = 0.068, 0.9, 0.19  # inches: a letter, handle and gaps, a line


@dataclass(frozen=True)
class Legend:
    """The entries of a legend and in how many columns they stand."""

    entries: Entries
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


def _by_label(drawing: Drawing) -> dict[str, list[tuple[str, Hue]]]:
    """By the label of each hue where it is drawn: the panel's title without its metric, the hue."""
    by_label: dict[str, list[tuple[str, Hue]]] = {}
    for panel in drawing.panels:
        for hue in panel.hues:
            by_label.setdefault(hue.label, []).append((_setting(panel), hue))
    return by_label


def _setting(panel: Panel) -> str:
    """A panel's title without the metric, which the runs of several panels share."""
    parts = panel.title.split(", ")
    metric = level_name("metric", panel.metric) if "metric" in panel.coords else ""
    return ", ".join(part for part in parts if part != metric)


def _hues(drawing: Drawing) -> Entries:
    by_label = _by_label(drawing)
    entries = [(drawing.kind.handle(hues[0][1]), _text(hues)) for hues in by_label.values()]
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


def _text(drawn: list[tuple[str, Hue]]) -> str:
    """The label, with how many runs there are if some are missing, and how many diverged."""
    hues = [hue for _, hue in drawn]
    planned = set().union(*(hue.planned for hue in hues))
    measured = {cell.run_id for hue in hues for cell in hue.measured}
    unit = "seeds" if len(hues) == 1 else "runs"
    lacking = f"{len(measured)} of {len(planned)} {unit}" if len(measured) < len(planned) else ""
    remarks = ", ".join(text for text in (lacking, _diverged(drawn)) if text)
    return f"{hues[0].label} ({remarks})" if remarks else hues[0].label


def _diverged(drawn: list[tuple[str, Hue]]) -> str:
    """'2 diverged'; of several settings with where: '1 diverged in α = 0.2; 1 in α = 0.6'."""
    lost: dict[str, set[str]] = {}
    for setting, hue in drawn:
        lost.setdefault(setting, set()).update(hue.diverged)
    counts = [(setting, len(runs)) for setting, runs in lost.items() if runs]
    if not counts or len(lost) == 1:
        return f"{counts[0][1]} diverged" if counts else ""
    (first, n), *others = counts
    return "; ".join([f"{n} diverged in {first}", *(f"{m} in {setting}" for setting, m in others)])
