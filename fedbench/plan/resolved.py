"""The settings of a point of a grid, from the paper, its levels, the grid and its cases."""

from fedbench.paper.items import Grid
from fedbench.paper.levels import (
    Settings,
    assigned,
    layered,
    level_settings,
    parts_of,
    with_main_parameter,
)
from fedbench.paper.named import spelled_out
from fedbench.paper.paper import Paper
from fedbench.paper.places import Level
from fedbench.plan.points import matches
from fedbench.spec import NAMED, Choice, RunSpec


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
    """Put the parts in `always` before those of the run and of its search's trials."""
    joined = settings | {"parts": [*always, *parts_of(settings)]}
    match joined.get("tune"):
        case {"trials": {"parts": _} as trials}:
            joined["tune"] = joined["tune"] | {"trials": _with_common(always, spelled_out(trials))}
    return joined


def printed_choices(settings: Settings) -> Settings:
    """Settings with the default of each choice of one name filled in, for a cut to replace."""
    defaults = {kind: RunSpec.model_fields[kind].default for kind in NAMED}
    return {kind: dict(choice) for kind, choice in defaults.items()} | settings
