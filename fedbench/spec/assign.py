"""Settings by name: a field, or `part.parameter` for a parameter of a part."""

from collections.abc import Sequence
from typing import Any

from fedbench.base.errors import FedbenchError


def assign(plain: dict[str, Any], key: str, value: Any) -> None:
    """Set a field in `plain`, or for `part.parameter` a parameter of each part of that name.

    `tune.grid` reaches into the search, as do its other fields.
    """
    part, _, parameter = key.partition(".")
    if not parameter:
        plain[key] = value
    elif part == "tune":
        if not plain.get("tune"):
            raise FedbenchError(f"'{key}' names the search of a run that has none")
        plain["tune"] = dict(plain["tune"]) | {parameter: value}
    else:
        _assign_to_part(plain, key, value)


def _assign_to_part(plain: dict[str, Any], key: str, value: Any) -> None:
    part, _, parameter = key.partition(".")
    owners = [p for p in plain["parts"] if p["name"] == part]
    if not owners:
        raise no_part(key, "this run", [p["name"] for p in plain["parts"]])
    for owner in owners:
        owner["params"] = owner["params"] | {parameter: value}


def no_part(key: str, owner: str, names: Sequence[str]) -> FedbenchError:
    """The error for a `part.parameter` of which the owner, such as 'this run', has no part."""
    only = f"only {[*names]}" if names else "which is FedAvg and has no parts"
    return FedbenchError(f"'{key}' names no part of {owner}, {only}")
