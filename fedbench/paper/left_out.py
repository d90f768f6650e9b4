"""What of a paper a scale leaves out: tables and figures, points of its grids, and levels."""

from dataclasses import dataclass

from fedbench.paper.grid_points import matches, points
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, SeedCase, worded
from fedbench.paper.yaml_notation import Level


@dataclass(frozen=True)
class LeftOut:
    """What a scale leaves out: tables and figures, points of others, and levels by axis."""

    items: list[tuple[str, list[str]]]  # titles, and what versions that are shown add to them
    points: list[tuple[str, list[str]]]  # in words, and the titles of what would show them
    levels: dict[str, tuple[Level, ...]]
    about: str  # what the scale's file says of it
    axes: dict[str, str]  # what the paper's file says of some axes

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        return bool(self.items or self.points or self.levels)


def left_out(paper: Paper, chosen: Paper, by: Cut) -> LeftOut:
    """What is left of a paper that the cut does not choose."""
    kept = dict(chosen.everything())
    items = []
    for title in [item.title for key, item in paper.everything() if key not in kept]:
        alike = [x.title for x in kept.values() if x.title.startswith((f"{title} ", f"{title}, "))]
        items.append((title, [longer.removeprefix(title).lstrip(", ") for longer in alike]))
    cases = [case for case in by.seed_cases if not case.seeds]
    places = [(case.where, _titles(paper, case), _titles(chosen, case)) for case in cases]
    # Where no table is left that would show the points, the tables' own titles are in the list.
    told = [(worded(where), here) for where, whole, here in places if here or not whole]
    axes: dict[str, dict[Level, None]] = {}
    for axis, levels in (pair for grid in paper.grids.values() for pair in grid.axes.items()):
        gone = [x for x in levels if x not in by.levels.get(axis, levels)]
        axes.setdefault(axis, {}).update(dict.fromkeys(gone))
    gone_levels = {axis: tuple(gone) for axis, gone in axes.items() if gone}
    return LeftOut(items, told, gone_levels, by.about, paper.axes)


def _titles(paper: Paper, case: SeedCase) -> list[str]:
    """The titles of the tables and figures that show points which the case means."""
    found = []
    for _, item in paper.items():
        meant = (at for at in points(paper.grids[item.grid]) if case.means(item.grid, at))
        if any(matches(at, item.where) for at in meant):
            found.append(item.title)
    return found
