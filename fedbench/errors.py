"""The one exception a user meets: the place, the bad value and what is allowed."""

import difflib
from collections.abc import Iterable


class FedbenchError(ValueError):
    """Bad input: a config, a data file, a command line or a checkpoint."""


def unknown(kind: str, name: object, allowed: Iterable[str]) -> FedbenchError:
    """The error for a name that is not in `allowed`, with the nearest one suggested."""
    names = {known.lower(): known for known in sorted(allowed)}
    near = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.5)
    everything = ", ".join(names.values()) or "nothing"
    hint = f"did you mean '{names[near[0]]}'?" if near else f"choose from {everything}"
    return FedbenchError(f"no {kind} '{name}'; {hint}")
