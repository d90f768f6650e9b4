"""What a figure of a paper shows: which runs stand in which panel, titles, styles, the legend."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.paper import items
from fedbench.paper.notation import Level, Where, reading
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.points import matches
from fedbench.plan.substitutions import Substitutions, merged
from fedbench.report.figures.panels import Entries, Figure, Hue, Kind, Panel
from fedbench.report.figures.style import styles
from fedbench.report.values.frames import Collected
from fedbench.report.values.numbers import level_name, point_name


@dataclass(frozen=True)
class Drawing:
    """All that a figure shows.

    `across` is how many panels stand side by side (0: as many as fit); `substituted` says how its
    runs differ from the paper's.
    """

    key: str
    title: str
    caption: str
    kind: Kind
    panels: tuple[Panel, ...] = field(repr=False)
    across: int
    substituted: Substitutions

    @property
    def parts(self) -> tuple[str, ...]:
        """Titles of the parts that each panel is divided into."""
        return self.kind.parts(self.panels)

    @property
    def lack(self) -> str:
        """Why there is nothing to draw: 'no run is finished'; empty if there is something."""
        if any(map(self.kind.has, self.panels)):
            return ""
        return "; ".join(dict.fromkeys(map(self.kind.absence, self.panels)))


@dataclass(frozen=True)
class _Draft:
    place: str
    paper: Paper
    figure: items.Figure
    kind: Kind
    cells: list[Cell]
    collected: Collected

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the grid that have one panel per combination of their levels."""
        panels, hue = self.figure.panels, self.figure.hue
        return (*panels, hue) if self.kind.apart and hue not in panels else panels

    def levels(self, axis: str) -> list[Level]:
        """The levels of an axis that are drawn, in the grid's order."""
        if axis == "metric":
            return list(self.figure.metrics)
        planned = {cell.coords[axis] for cell in self.cells}
        return [x for x in self.paper.grids[self.figure.grid].axes[axis] if x in planned]


def drawing(plan: Plan, at: tuple[str, str], collected: Collected) -> Drawing:
    """What the figure at the keys `at` (paper, figure) shows.

    Raises `FedbenchError` on a metric that no collected run has.
    """
    paper = plan.papers[at[0]]
    figure = paper.figures[at[1]]
    kind: Kind = registry.build("figure", figure.kind.name, figure.kind.params)
    cells = plan.select(at[0], figure.grid, figure.where)
    draft = _Draft(f"{at[0]}: figures.{at[1]}", paper, figure, kind, cells, collected)
    _check_columns(draft)
    panels = tuple(_panels(draft))
    axes = [axis for axis in figure.where if len(draft.levels(axis)) == 1]
    title = ", ".join([figure.title, *(_title(axis, draft.levels(axis)[0]) for axis in axes)])
    notes = merged(cell.substituted for cell in cells)
    caption = " ".join(filter(None, [figure.caption, kind.note, kind.remark(panels)]))
    across = 0
    if len(draft.axes) == 2:  # a column per level, where every combination has a panel
        rows, columns = (len(draft.levels(axis)) for axis in draft.axes)
        across = columns if len(panels) == rows * columns and 1 < columns <= 4 else 0
    return Drawing(at[1], title, caption, kind, panels, across, notes)


def _check_columns(draft: _Draft) -> None:
    """Refuse a figure of a column that the collected runs do not have."""
    columns = draft.collected.frame.columns
    for metric in (reading(name).metric for name in draft.figure.metrics if not draft.kind.reads):
        if metric not in columns and any(c.run_id in draft.collected.states for c in draft.cells):
            raise FedbenchError(
                f"{draft.place}: no run has the column '{metric}'; name its probe in `watch`"
            )


def _panels(draft: _Draft) -> Iterator[Panel]:
    for point in product(*(draft.levels(axis) for axis in draft.axes)):
        coords = dict(zip(draft.axes, point, strict=True))
        real: Where = {axis: level for axis, level in coords.items() if axis != "metric"}
        cells = [cell for cell in draft.cells if matches(cell.coords, real)]
        hues = tuple(_hues(draft, coords, cells))
        titles = [_title(x, at) for x, at in coords.items() if len(draft.levels(x)) > 1]
        metric = str(coords.get("metric", draft.figure.metrics[0]))
        if hues:
            yield Panel(coords, ", ".join(titles), metric, hues)


def _title(axis: str, level: Level) -> str:
    return level_name(axis, level) if axis in ("method", "metric") else point_name(axis, level)


def _hues(draft: _Draft, coords: dict[str, Level], cells: list[Cell]) -> Iterator[Hue]:
    axis = draft.figure.hue
    style_of = styles(_all_levels(draft))
    for level in draft.levels(axis):
        of_level = [cell for cell in cells if axis == "metric" or cell.coords[axis] == level]
        if of_level and coords.get(axis, level) == level:
            metric = level if axis == "metric" else coords.get("metric", draft.figure.metrics[0])
            name, cells_of = _title(axis, level), tuple(of_level)
            yield Hue(name, style_of[level], str(metric), cells_of, draft.collected)


def _all_levels(draft: _Draft) -> list[Level]:
    """All levels of the hue in the whole paper, so that each has one style in all figures."""
    hue, paper = draft.figure.hue, draft.paper
    if hue == "metric":
        return list(draft.figure.metrics)
    named = [level for level in paper.levels.get(hue, {}) if level != "each"]
    return named + [level for grid in paper.grids.values() for level in grid.axes.get(hue, ())]


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
    entries = _entries(drawing) if of_kind is None else of_kind
    longest = max((len(text) for _, text in entries), default=0)
    fitting = max(1, int(width / (longest * _LETTER + _HANDLE)))
    lines = -(-len(entries) // fitting) or 1
    return Legend(entries, -(-len(entries) // lines) or 1)  # the columns that so many lines need


def remarked(drawing: Drawing) -> dict[str, str]:
    """By the label of each hue, what the legend says of it: 'FedAvg (1 diverged)'."""
    return {label: _text(hues) for label, hues in _by_label(drawing).items()}


def _by_label(drawing: Drawing) -> dict[str, list[tuple[str, Hue]]]:
    """By the label of each hue where it is drawn: the panel's title without its metric, the hue.

    The runs of several panels share a metric.
    """
    by_label: dict[str, list[tuple[str, Hue]]] = {}
    for panel in drawing.panels:
        metric = level_name("metric", panel.metric) if "metric" in panel.coords else ""
        setting = ", ".join(part for part in panel.title.split(", ") if part != metric)
        for hue in panel.hues:
            by_label.setdefault(hue.label, []).append((setting, hue))
    return by_label


def _entries(drawing: Drawing) -> Entries:
    titles = {panel.title for panel in drawing.panels}
    entries: Entries = []
    for label, hues in _by_label(drawing).items():
        said = drawing.kind.named or label in titles or f", {label}" in drawing.title
        if not said or _text(hues) != label:
            entries.append((drawing.kind.handle(hues[0][1]), _text(hues)))
    return entries


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
