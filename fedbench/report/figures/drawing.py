"""What a figure of a paper shows: which runs stand in which panel, with titles and styles."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.paper.items import Figure
from fedbench.paper.notation import Level, Where, reading
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.points import matches
from fedbench.plan.substitutions import Substitutions, merged
from fedbench.report.figures.panels import Hue, Kind, Panel
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
    """What the panels of one figure are made from."""

    place: str
    paper: Paper
    figure: Figure
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
    title = ", ".join([figure.title, *_fixed(draft)])
    notes = merged(cell.substituted for cell in cells)
    caption = " ".join(filter(None, [figure.caption, kind.note, kind.remark(panels)]))
    return Drawing(at[1], title, caption, kind, panels, _across(draft, len(panels)), notes)


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
            metric = str(
                level if axis == "metric" else coords.get("metric", draft.figure.metrics[0])
            )
            yield Hue(
                _title(axis, level), style_of[level], metric, tuple(of_level), draft.collected
            )


def _all_levels(draft: _Draft) -> list[Level]:
    """All levels of the hue in the whole paper, so that each has one style in all figures."""
    hue, paper = draft.figure.hue, draft.paper
    if hue == "metric":
        return list(draft.figure.metrics)
    named = [level for level in paper.levels.get(hue, {}) if level != "each"]
    return named + [level for grid in paper.grids.values() for level in grid.axes.get(hue, ())]


def _fixed(draft: _Draft) -> list[str]:
    """Levels that `where` sets for the whole figure, in words."""
    axes = [axis for axis in draft.figure.where if len(draft.levels(axis)) == 1]
    return [_title(axis, draft.levels(axis)[0]) for axis in axes]


def _across(draft: _Draft, panels: int) -> int:
    """One column per level of the last axis, where every combination of two axes has a panel."""
    if len(draft.axes) < 2:
        return 0
    columns = len(draft.levels(draft.axes[-1]))
    full = panels == columns * len(draft.levels(draft.axes[-2])) and len(draft.axes) == 2
    return columns if full and 1 < columns <= 4 else 0
