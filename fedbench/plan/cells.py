"""One run of a paper at a scale: its point of a grid, its seed, and where the scale changes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedbench.base.grouping import grouped
from fedbench.paper.yaml_notation import Level
from fedbench.spec import RunSpec

# Settings that do not make a run another experiment than the paper's; all others do.
_INCIDENTAL = {"seed", "data_seed", "tune", "eval_every", "watch"}


@dataclass(frozen=True)
class Substitution:
    """A setting in which a run differs from the paper's experiment."""

    setting: str
    here: str = ""  # empty where nothing but the search is left out
    paper: str = ""
    tried: int = 0  # how many values the paper's search tries, where `paper` is empty


Substitutions = tuple[Substitution, ...]


@dataclass(frozen=True)
class Cell:
    """One point of a grid with one seed: its level on each axis, and its run."""

    paper: str
    grid: str
    coords: dict[str, Level]
    seed: int
    run: RunSpec
    substituted: Substitutions  # in what the run differs from the paper's experiment

    @cached_property
    def run_id(self) -> str:
        """The id of its run, worked out once: it is a checksum of all settings."""
        return self.run.id


def by_setting(cells: Iterable[Cell], name: Callable[[Cell], str]) -> dict[str, list[Cell]]:
    """Cells by their setting's name, and by grid too where grids have other runs at one point."""
    found: dict[str, list[Cell]] = {}
    for setting, alike in grouped(cells, name).items():
        at = {(str(cell.coords.get("method")), cell.seed) for cell in alike}
        one_run_each = len(at) == len({cell.run_id for cell in alike})
        for cell in alike:
            key = setting if one_run_each else f"{setting} ({cell.grid})"
            found.setdefault(key, []).append(cell)
    return found


def substitutions(printed: RunSpec, small: RunSpec) -> Substitutions:
    """In which settings the run at this scale differs, if only in not being searched."""
    fields = [field for field in RunSpec.model_fields if field not in _INCIDENTAL]
    searched = {k: len(tried) for k, tried in printed.tune.grid.items()} if printed.tune else {}
    found = []
    for field in fields:
        here, there = getattr(small, field), getattr(printed, field)
        if here != there:
            said = "" if field in searched else _text(there)
            found.append(Substitution(field, _text(here), said, searched.get(field, 0)))
    known = {each.setting for each in found}.union(small.tune.grid if small.tune else ())
    return (*found, *(Substitution(k, tried=n) for k, n in searched.items() if k not in known))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " + ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value is not None else "none"


def merged(found: Iterable[Substitutions]) -> Substitutions:
    """All of them once, those of one setting next to each other."""
    of_setting = grouped((one for some in found for one in some), lambda one: one.setting)
    return tuple(dict.fromkeys(one for each in of_setting.values() for one in each))
