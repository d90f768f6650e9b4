"""In which settings a run at a scale differs from the paper's experiment."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fedbench.base.grouping import grouped
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
