"""What a scale changes in a paper: settings in which its runs differ, and what is left out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fedbench.paper.paper import Paper
from fedbench.paper.places import Level
from fedbench.paper.scale import Cut, SeedCase
from fedbench.plan.points import matches, points
from fedbench.plan.scale_checks import everything_of
from fedbench.spec import RunSpec

# Settings that do not make a run another experiment than the paper's; all others do.
_INCIDENTAL = {"seed", "data_seed", "tune", "eval_every", "watch"}


@dataclass(frozen=True)
class Substitution:
    """A setting in which a run differs from the paper's experiment: its value `here` and there.

    `tried`: how many values the paper's search tries, where it searches and `paper` is empty.
    `here` is empty where nothing but the search is left out.
    """

    setting: str
    here: str = ""
    paper: str = ""
    tried: int = 0


Substitutions = tuple[Substitution, ...]


def substitutions(printed: RunSpec, small: RunSpec) -> Substitutions:
    """In which settings the run at this scale differs from the paper's experiment.

    How a search chooses makes no difference, but that a setting is not searched does.
    """
    fields = [field for field in RunSpec.model_fields if field not in _INCIDENTAL]
    changed = [field for field in fields if getattr(small, field) != getattr(printed, field)]
    searched = (
        {name: len(tried) for name, tried in printed.tune.grid.items()} if printed.tune else {}
    )
    tried = small.tune.grid if small.tune else {}
    unsearched = [name for name in searched if name not in (*changed, *tried)]
    return (
        *(_changed(field, printed, small, searched.get(field, 0)) for field in changed),
        *(Substitution(name, tried=searched[name]) for name in unsearched),
    )


def _changed(field: str, printed: RunSpec, small: RunSpec, tried: int) -> Substitution:
    there = "" if tried else _text(getattr(printed, field))
    return Substitution(field, _text(getattr(small, field)), there, tried)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " + ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value is not None else "none"


def common(found: Iterable[Substitutions]) -> Substitutions:
    """Those that all have, in the order of the first."""
    first, *others = found or ((),)
    return tuple(each for each in first if all(each in other for other in others))


def merged(found: Iterable[Substitutions]) -> Substitutions:
    """All of them once, those of one setting next to each other."""
    of_setting: dict[str, dict[Substitution, None]] = {}
    for each in (one for some in found for one in some):
        of_setting.setdefault(each.setting, {})[each] = None
    return tuple(each for some in of_setting.values() for each in some)


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
    kept = dict(everything_of(chosen))
    gone = [item.title for key, item in everything_of(paper) if key not in kept]
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
    """The tables and figures that show points of this case."""
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
