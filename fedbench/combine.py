"""Which parts can stand side by side."""

from collections.abc import Sequence

from fedbench.errors import FedbenchError
from fedbench.part import Part


def refuse_conflicts(parts: Sequence[Part]) -> None:
    """Raise `FedbenchError` with the reason if a part stands twice, or where it cannot."""
    names = [type(part).__name__.lower() for part in parts]
    for i, part in enumerate(parts):
        if names[i] in names[:i]:
            raise FedbenchError(f"parts: '{names[i]}' is listed twice")
        for other, reason in part.excludes.items():
            if other in names:
                raise FedbenchError(f"parts: '{names[i]}' cannot stand beside '{other}': {reason}")
        for other, reason in part.follows.items():
            if other in names[i:]:
                raise FedbenchError(f"parts: '{names[i]}' must stand after '{other}': {reason}")
    _refuse_rivals(parts, names)


def _refuse_rivals(parts: Sequence[Part], names: Sequence[str]) -> None:
    """Raise if two parts decide the same thing."""
    deciders: dict[str, str] = {}
    for part, name in zip(parts, names, strict=True):
        for what in part.decides:
            if what in deciders:
                other = deciders[what]
                raise FedbenchError(
                    f"parts: '{name}' cannot stand beside '{other}': both decide {what}"
                )
            deciders[what] = name
