"""Versions of the code whose numbers count: of the engine, and of each component that has changed.

A run's identity holds the versions of what it uses, so that a mended method trains its own runs
anew and leaves all others valid. A component (method, model, data set, partition, sampler, probe)
whose numbers change declares it in its class, by the setting of the run, the parameter of its own
or the other component that uses the changed code, or by `ALWAYS`:

    numerics: ClassVar[dict[str, int]] = {"momentum": 4}

Without a declaration it has the engine's version. A change of the engine that only one setting uses
has a line in `SETTINGS`; any other raises `NUMERICS`, and all declarations up to it go.
"""

from collections.abc import Sequence
from typing import Any

from fedbench.base import registry
from fedbench.spec.choice import Choice

NUMERICS = 3
ALWAYS = "always"
SETTINGS: dict[str, int] = {}


def changed_since(chosen: Sequence[tuple[str, Choice]], plain: dict[str, Any]) -> dict[str, int]:
    """The versions above `NUMERICS` of what a run uses, by component or setting.

    `chosen` are the run's components, as (kind, choice), and `plain` the settings that it does not
    leave at their defaults. A component that is not known here is passed over.
    """
    tune = plain.get("tune") or {}
    searched = [key.rpartition(".")[2] for key in tune.get("grid", ())]
    given = {*plain, *searched, *tune.get("trials", ())}  # of the run, or of its search
    versions = {name: version for name, version in SETTINGS.items() if name in given}
    others = {choice.name for _, choice in chosen}
    for kind, choice in chosen:
        entry = registry.entries(kind).get(choice.name)
        if declared := entry and entry.constants.get("numerics"):
            uses = {ALWAYS, *given, *choice.brief(kind).params, *others}
            used = [version for name, version in declared.items() if name in uses]
            versions |= {f"{kind} {choice.name}": max(used)} if used else {}
    return versions
