"""The settings of a run as flat columns for people, and whether they still give its numbers."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError
from fedbench.spec import LISTED, NAMED, Choice, RunSpec

_VERSIONS = ("numerics", "newer", "plugins")  # in a record's settings, those of the code


def setting_columns(
    resolved: Mapping[str, Any], said: Callable[[Choice], str] = str
) -> dict[str, Any]:
    """The columns of the settings that a record's `resolved` has, but for its search.

    A choice is a column with its words, 'dp(delta=0.5)', or what else is `said` of it, and one for
    each of its parameters, `partition.delta` = 0.5; those of a part have its name, `fedprox.mu`,
    those of a probe or shift `watch.<probe>.<parameter>`. Settings within one are `augment.crop`.
    """
    found: dict[str, Any] = {}
    within: list[tuple[str, Mapping[str, Any]]] = []
    for name, value in resolved.items():
        if name == "tune":
            continue
        if name in LISTED:
            choices = [checked(Choice, each) for each in value]
            found[name] = " + ".join(map(said, choices))
            owner = "" if name == "parts" else f"{name}."
            within += [(f"{owner}{each.name}", each.params) for each in choices]
        elif name in NAMED:
            choice = checked(Choice, value)
            found[name] = said(choice)
            within.append((name, choice.params))
        elif isinstance(value, dict):
            within.append((name, value))
        else:
            found[name] = value
    found |= {f"{owner}.{k}": value for owner, values in within for k, value in values.items()}
    return {k: json.dumps(x) if isinstance(x, list | dict) else x for k, x in found.items()}


def recorded_run(settings: Mapping[str, Any]) -> RunSpec:
    """The run of a record, by its settings; raises `FedbenchError` where a plug-in is not here."""
    return RunSpec(**{name: value for name, value in settings.items() if name not in _VERSIONS})


def is_outdated(settings: Mapping[str, Any]) -> bool:
    """Whether no plan asks for the run of such settings any more: other numbers, or another id."""
    with suppress(FedbenchError):  # of a plug-in that is not here nobody knows
        now = recorded_run(settings).settings()
        return any(now.get(name) != settings.get(name) for name in {*now, *settings} - {"plugins"})
    return False
