"""What a scale leaves out of a paper: tables and figures, points of others, and levels."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.paper.notation import Level
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, SeedCase
from fedbench.plan.points import matches, points


@dataclass(frozen=True)
class ItemLeftOut:
    """The title of a table or figure that is not shown, and of versions of it that are."""

    title: str
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class PointsLeftOut:
    """Points without any seed, and the titles of the tables and figures that would show them."""

    case: SeedCase
    titles: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """What a scale leaves out: tables and figures, points of others, and levels by axis.

    `about` is what the scale's file says of its changes to this paper, `axes` what the paper's file
    says of some axes.
    """

    items: tuple[ItemLeftOut, ...]
    points: tuple[PointsLeftOut, ...]
    levels: dict[str, tuple[Level, ...]]
    about: str
    axes: dict[str, str]

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        return bool(self.items or self.points or self.levels)


def left_out(paper: Paper, chosen: Paper, by: Cut) -> LeftOut:
    """What is left of a paper that the cut does not choose."""
    kept = dict(chosen.everything())
    gone = [item.title for key, item in paper.everything() if key not in kept]
    shown = [item.title for item in kept.values()]
    cases = [case for case in by.seed_cases if not case.seeds]
    places = [(case, [*_titles(paper, case)], [*_titles(chosen, case)]) for case in cases]
    # Where no table is left that would show the points, the tables' own titles are in the list.
    told = [PointsLeftOut(case, (*here,)) for case, whole, here in places if here or not whole]
    items = tuple(ItemLeftOut(title, (*_versions(title, shown),)) for title in gone)
    return LeftOut(items, tuple(told), _levels(paper, by), by.about, paper.axes)


def _versions(title: str, shown: list[str]) -> Iterator[str]:
    """What titles of shown versions add to it: 'on CIFAR-10' of 'Table 1 on CIFAR-10'."""
    for longer in shown:
        if longer.startswith((f"{title} ", f"{title}, ")):
            yield longer.removeprefix(title).lstrip(", ")


def _titles(paper: Paper, case: SeedCase) -> Iterator[str]:
    for _, item in paper.items():
        meant = (at for at in points(paper.grids[item.grid]) if case.means(item.grid, at))
        if any(matches(at, item.where) for at in meant):
            yield item.title


def _levels(paper: Paper, by: Cut) -> dict[str, tuple[Level, ...]]:
    axes: dict[str, list[Level]] = {}
    for grid in paper.grids.values():
        for axis, levels in grid.axes.items():
            gone = [x for x in levels if axis in by.levels and x not in by.levels[axis]]
            axes.setdefault(axis, []).extend(gone)
    return {axis: tuple(dict.fromkeys(gone)) for axis, gone in axes.items() if gone}
