"""How a run at some scale differs from the paper's experiment."""

from typing import Any

from fedbench.spec import RunSpec

# Settings that do not make a run another experiment than the paper's; all others do.
_INCIDENTAL = {"seed", "data_seed", "tune", "eval_every", "watch"}
_COUNTS = {"clients", "rounds", "epochs", "steps"}


def substituted(printed: RunSpec, small: RunSpec) -> str:
    """How the run at this scale differs from the paper's experiment, in words.

    How a search chooses makes no difference, but that a setting is not searched does.
    """
    fields = [field for field in RunSpec.model_fields if field not in _INCIDENTAL]
    changed = [field for field in fields if getattr(small, field) != getattr(printed, field)]
    searched = printed.tune.grid if printed.tune else {}
    was = {field: _show(getattr(printed, field)) for field in changed}
    was |= {field: f"the best of {len(searched[field])}" for field in changed if field in searched}
    told = [_told(field, _show(getattr(small, field)), was[field]) for field in changed]
    tried = small.tune.grid if small.tune else {}
    unsearched = [name for name in searched if name not in (*changed, *tried)]
    return "; ".join([*told, *(f"{name} without a search" for name in unsearched)])


def _told(field: str, here: str, there: str) -> str:
    """'100 rounds in place of 500', 'dataset digits in place of mnist'."""
    what = f"{here} {field}" if field in _COUNTS else f"{field} {here}"
    return f"{what} in place of {there}"


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " + ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value is not None else "none"
