"""What a figure of a paper shows: which runs stand in which panel, titles, styles, the legend."""

from dataclasses import dataclass, field
from itertools import product

from fedbench.base.errors import FedbenchError
from fedbench.paper import tables_and_figures
from fedbench.paper.grid_points import Substitutions, matches, merged
from fedbench.paper.paper import Paper
from fedbench.paper.yaml_notation import Level, Where, reading
from fedbench.plan.plan import Cell, Plan
from fedbench.report.figures.panels import Entries, Hue, Kind, Line2D, Panel, Patch
from fedbench.report.figures.style import filling, stroke, styles
from fedbench.report.values.collected_frames import Collected
from fedbench.report.values.numbers import level_name, point_name


@dataclass(frozen=True)
class Drawing:
    """All that a figure shows."""

    key: str
    title: str
    caption: str
    kind: Kind
    panels: tuple[Panel, ...] = field(repr=False)
    across: int  # how many panels stand side by side; 0: as many as fit
    substituted: Substitutions  # in what its runs differ from the paper's

    @property
    def lack(self) -> str:
        """Why there is nothing to draw: 'no run is finished'; empty if there is something."""
        if any(map(self.kind.has, self.panels)):
            return ""
        return "; ".join(dict.fromkeys(map(self.kind.absence, self.panels)))


def drawing(plan: Plan, at: tuple[str, str], collected: Collected) -> Drawing:
    """What the figure at the keys `at` (paper, figure) shows."""
    paper = plan.papers[at[0]]
    figure = paper.figures[at[1]]
    kind: Kind = figure.kind.build("figure")
    cells = plan.select(at[0], figure.grid, figure.where)
    columns = [reading(name).metric for name in figure.metrics if not kind.reads]
    absent = [name for name in columns if name not in collected.frame]
    if absent and any(cell.run_id in collected.states for cell in cells):
        raise FedbenchError(f"{at[0]}: figures.{at[1]}: no run has the column '{absent[0]}'")
    levels: dict[str, list[Level]] = {"metric": [*figure.metrics]}
    for axis, of_axis in paper.grids[figure.grid].axes.items():
        planned = {cell.coords[axis] for cell in cells}
        levels[axis] = [level for level in of_axis if level in planned]
    apart = kind.apart and figure.hue not in figure.panels
    axes = (*figure.panels, figure.hue) if apart else figure.panels
    panels = _panels(paper, figure, axes, levels, cells, collected)
    for panel in panels:
        kind.require(panel)
    alone = [point_name(axis, levels[axis][0]) for axis in figure.where if len(levels[axis]) == 1]
    caption = " ".join(filter(None, [figure.caption, kind.note, kind.remark(panels)]))
    across = 0
    if len(axes) == 2:  # a column per level, where every combination has a panel
        high, wide = (len(levels[axis]) for axis in axes)
        across = wide if len(panels) == high * wide and 1 < wide <= 4 else 0
    notes = merged(cell.substituted for cell in cells)
    return Drawing(at[1], ", ".join([figure.title, *alone]), caption, kind, panels, across, notes)


def _panels(
    paper: Paper,
    figure: tables_and_figures.Figure,
    axes: tuple[str, ...],
    levels: dict[str, list[Level]],
    cells: list[Cell],
    collected: Collected,
) -> tuple[Panel, ...]:
    """One panel per combination of levels of the axes, with a hue per level that has cells."""
    # of all levels of the hue in the whole paper, so that each has one style in all figures
    named = [level for level in paper.levels.get(figure.hue, {}) if level != "each"]
    named += [level for grid in paper.grids.values() for level in grid.axes.get(figure.hue, ())]
    style_of = styles(levels["metric"] if figure.hue == "metric" else named)
    panels = []
    for point in product(*(levels[axis] for axis in axes)):
        coords, hues = dict(zip(axes, point, strict=True)), []
        for level in levels[figure.hue]:
            asked: Where = {figure.hue: level, **coords}
            metric = str(asked.pop("metric", figure.metrics[0]))
            own = tuple(cell for cell in cells if matches(cell.coords, asked))
            if own and coords.get(figure.hue, level) == level:
                name = point_name(figure.hue, level)
                hues.append(Hue(name, style_of[level], metric, own, collected))
        title = ", ".join(point_name(*at) for at in coords.items() if len(levels[at[0]]) > 1)
        if hues:
            metric = str(coords.get("metric", figure.metrics[0]))
            panels.append(Panel(coords, title, metric, tuple(hues)))
    return tuple(panels)


def entries(drawing: Drawing) -> Entries:
    """The entries of a figure's legend, without what its titles already say."""
    of_kind = drawing.kind.legend(drawing.panels)
    if of_kind is not None:
        return of_kind
    titles = {panel.title for panel in drawing.panels}
    style_of = {hue.label: hue.style for panel in drawing.panels for hue in panel.hues}
    found: Entries = []
    for label, text in remarked(drawing).items():
        said = drawing.kind.named or label in titles or f", {label}" in drawing.title
        if not said or text != label:
            style, fill = style_of[label], drawing.kind.fill
            line = Line2D([], [], linewidth=1.6, **stroke(style))
            found.append((line if fill is None else Patch(**filling(style, fill)), text))
    return found


def remarked(drawing: Drawing) -> dict[str, str]:
    """By the label of each hue, what the legend says of it: 'FedAvg (1 diverged)'."""
    by_label: dict[str, list[tuple[str, Hue]]] = {}
    for panel in drawing.panels:
        metric = level_name("metric", panel.metric) if "metric" in panel.coords else ""
        setting = ", ".join(part for part in panel.title.split(", ") if part != metric)
        for hue in panel.hues:
            by_label.setdefault(hue.label, []).append((setting, hue))
    return {label: _remarked(drawn) for label, drawn in by_label.items()}


def _remarked(drawn: list[tuple[str, Hue]]) -> str:
    """'FedAvg (2 of 3 seeds, 2 diverged)'; of several settings 'FedAvg (1 diverged in α = 0.2)'."""
    hues = [hue for _, hue in drawn]
    planned = set().union(*(hue.planned for hue in hues))
    measured = {cell.run_id for hue in hues for cell in hue.measured}
    unit = "seeds" if len(hues) == 1 else "runs"
    lacking = f"{len(measured)} of {len(planned)} {unit}" if len(measured) < len(planned) else ""
    lost: dict[str, set[str]] = {}
    for setting, hue in drawn:
        lost.setdefault(setting, set()).update(hue.diverged)
    counts = [(f" in {at}" * (len(lost) > 1), len(runs)) for at, runs in lost.items() if runs]
    diverged = [f"{n}{' diverged' * (i == 0)}{where}" for i, (where, n) in enumerate(counts)]
    remarks = ", ".join(filter(None, [lacking, "; ".join(diverged)]))
    return f"{hues[0].label} ({remarks})" if remarks else hues[0].label
