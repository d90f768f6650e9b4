"""What a scale leaves out of a paper, in words for the paper's page."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.paper.paper import Paper
from fedbench.paper.places import Level, level_text
from fedbench.paper.scale import Cut, SeedCase, quoted
from fedbench.plan.points import matches, points


@dataclass(frozen=True)
class LeftOut:
    """What a scale leaves out: tables and figures, points of others, and levels by axis.

    `items` are titles, `points` say which points are left out of which tables and figures. `about`
    is what the scale's file says of its changes to this paper, `axes` what the paper's file says of
    some axes.
    """

    items: tuple[str, ...]
    points: tuple[str, ...]
    levels: dict[str, tuple[Level, ...]]
    about: str
    axes: dict[str, str]

    @property
    def lines(self) -> tuple[str, ...]:
        """What is left out, the tables and figures in one line; empty if nothing is."""
        levels = (self._of(axis) for axis in self.levels)
        return tuple(filter(None, ["; ".join(self.items), *self.points, *levels]))

    def words(self) -> str:
        """All of it in one line; empty if nothing is left out."""
        return "; ".join(self.lines)

    def _of(self, axis: str) -> str:
        """'s (classes per client) 3, 4', 'method FedDyn, "FedAvg, momentum 0.9"'."""
        name = f"{axis} ({self.axes[axis]})" if axis in self.axes else axis
        return f"{name} {', '.join(quoted(level_text(x)) for x in self.levels[axis])}"


def left_out(paper: Paper, chosen: Paper, by: Cut) -> LeftOut:
    """What is left of a paper that the cut does not choose."""
    kept = dict(chosen.everything())
    gone = [item.title for key, item in paper.everything() if key not in kept]
    shown = [item.title for item in kept.values()]
    cases = [case for case in by.seed_cases if not case.seeds]
    places = [(case, [*_titles(paper, case)], [*_titles(chosen, case)]) for case in cases]
    # Where no table is left that would show the points, the tables' own titles are in the list.
    told = [_points(case, there) for case, whole, there in places if there or not whole]
    titles = tuple(_versions(title, shown) for title in gone)
    return LeftOut(titles, tuple(told), _levels(paper, by), by.about, paper.axes)


def _versions(title: str, shown: list[str]) -> str:
    """The title, with the versions of it that the page shows: 'Table 1 on CIFAR-10' of Table 1."""
    of_it = [x for x in shown if x.startswith((f"{title} ", f"{title}, "))]
    names = (f'"{x.removeprefix(title).lstrip(", ")}"' for x in of_it)
    return f"{title} (shown is the version {', '.join(names)})" if of_it else title


def _titles(paper: Paper, case: SeedCase) -> Iterator[str]:
    """The tables and figures that show points of this case."""
    for _, item in paper.items():
        meant = (at for at in points(paper.grids[item.grid]) if case.means(item.grid, at))
        if any(matches(at, item.where) for at in meant):
            yield item.title


def _points(case: SeedCase, titles: list[str]) -> str:
    """'dataset CIFAR-10, alpha 0.1 and method "MFL, dampened" in Table I, Fig. 11'."""
    where = case.levels() or "all points"
    return f"{where} in {', '.join(map(quoted, titles))}" if titles else case.words()


def _levels(paper: Paper, by: Cut) -> dict[str, tuple[Level, ...]]:
    axes: dict[str, list[Level]] = {}
    for grid in paper.grids.values():
        for axis, levels in grid.axes.items():
            gone = [x for x in levels if axis in by.levels and x not in by.levels[axis]]
            axes.setdefault(axis, []).extend(gone)
    return {axis: tuple(dict.fromkeys(gone)) for axis, gone in axes.items() if gone}
