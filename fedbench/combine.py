"""Which parts can stand side by side."""

from collections.abc import Sequence

from fedbench.errors import FedbenchError
from fedbench.part import Part


def refuse_conflicts(parts: Sequence[Part]) -> None:
    """Raise `FedbenchError` with the reason if two parts exclude each other or one stands twice."""
    names = [type(part).__name__.lower() for part in parts]
    for i, part in enumerate(parts):
        if names.index(names[i]) != i:
            raise FedbenchError(f"parts: '{names[i]}' is listed twice")
        for other, reason in part.excludes.items():
            if other in names:
                raise FedbenchError(f"parts: '{names[i]}' cannot stand beside '{other}': {reason}")
