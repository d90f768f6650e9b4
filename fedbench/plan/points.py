"""The points of a paper's grid, and which of them a `where` means."""

import itertools

from fedbench.paper.items import Grid
from fedbench.paper.places import Level, Where


def matches(coords: dict[str, Level], where: Where) -> bool:
    """Whether the point `coords` has the level that `where` names on an axis, or one of several."""
    return all(
        coords[axis] in (wanted if isinstance(wanted, tuple) else (wanted,))
        for axis, wanted in where.items()
    )


def points(grid: Grid) -> list[dict[str, Level]]:
    """Every combination of levels that the grid has, in order; the last axis changes first."""
    everything = [
        dict(zip(grid.axes, levels, strict=True))
        for levels in itertools.product(*grid.axes.values())
    ]
    return [p for p in everything if not any(matches(p, where) for where in grid.without)]
