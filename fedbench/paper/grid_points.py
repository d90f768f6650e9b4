"""The points of a paper's grids, and the settings that its file gives to each."""

import itertools

from fedbench.paper.axis_levels import (
    Settings,
    assigned,
    layered,
    level_settings,
    with_main_parameter,
)
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Grid
from fedbench.paper.yaml_notation import Level, Where, as_tuple
from fedbench.spec import NAMED, Choice, RunSpec
from fedbench.spec.compositions import parts_of, spelled_out


def matches(coords: dict[str, Level], where: Where) -> bool:
    """Whether the point `coords` has the level that `where` names on an axis, or one of several."""
    return all(coords[axis] in as_tuple(wanted) for axis, wanted in where.items())


def points(grid: Grid) -> list[dict[str, Level]]:
    """Every combination of levels that the grid has, in order; the last axis changes first."""
    combined = itertools.product(*grid.axes.values())
    everything = [dict(zip(grid.axes, levels, strict=True)) for levels in combined]
    return [p for p in everything if not any(matches(p, where) for where in grid.without)]


def resolve(paper: Paper, grid: Grid, coords: dict[str, Level]) -> Settings:
    """The settings of paper, levels, grid and cases at a point; later ones win."""
    levels = [level_settings(paper.levels, axis, level) for axis, level in coords.items()]
    settings = layered([spelled_out(paper.settings), *levels, spelled_out(grid.settings)])
    for case in grid.cases:
        if matches(coords, case.where):
            settings = assigned(settings, spelled_out(case.settings).items())
    if grid.main_parameters:
        settings = with_main_parameter(settings, coords.get("method"))
    return _with_common(paper.always, settings)


def _with_common(always: tuple[Choice, ...], settings: Settings) -> Settings:
    """The parts in `always` before those of the run and of its search's trials."""
    joined = settings | {"parts": [*always, *parts_of(settings)]}
    match joined.get("tune"):
        case {"trials": {"parts": _} as trials}:
            joined["tune"] = joined["tune"] | {"trials": _with_common(always, spelled_out(trials))}
    return joined


def printed_choices(settings: Settings) -> Settings:
    """Settings with the default of each choice of one name filled in, for a cut to replace."""
    defaults = {kind: RunSpec.model_fields[kind].default for kind in NAMED}
    return {kind: dict(choice) for kind, choice in defaults.items()} | settings
