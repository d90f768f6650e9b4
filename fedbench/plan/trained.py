"""The settings that a run was trained with: those of its file, and what its search chose."""

from typing import Any

from fedbench.base import registry
from fedbench.base.strict import checked
from fedbench.paper.places import level_text
from fedbench.spec import Choice, RunSpec

Settings = dict[str, Any]


def as_trained(file: Settings, resolved: Settings) -> tuple[Settings, dict[str, str]]:
    """The settings in a run's file with what its search chose, and by name a remark on the latter.

    file, resolved: `settings` and `resolved` of its `run.json`. A remark says 'chosen by the
    search; 0.03 in the file'. A parameter of a part has a line of its own, as `fedprox.mu`.
    """
    used, remarks = dict(file), {}
    for key in (file.get("tune") or {}).get("grid", ()):
        said, used[key] = _value(file, key), _value(resolved, key)
        there = ", as in the file" if said == used[key] else f"; {level_text(said)} in the file"
        remarks[key] = f"chosen by the search{there}"
    if "parts" in file and remarks:  # without a search they may be objects, which have no name
        used["parts"] = [_with(checked(Choice, part), used) for part in file["parts"]]
    return used, remarks


def _value(settings: Settings, key: str) -> Any:
    """A field, or a parameter of a part as `part.parameter`; the default where it is not given."""
    name, _, parameter = key.partition(".")
    if not parameter:
        return settings.get(name, RunSpec.model_fields[name].default)
    parts = [checked(Choice, part) for part in settings.get("parts", ())]
    given = next((part.params for part in parts if part.name == name), {})
    return given.get(parameter, registry.find("method", name).fields.get(parameter))


def _with(part: Choice, used: Settings) -> Any:
    """The part as YAML has it, with the values of its parameters that have a line."""
    chosen = {k.partition(".")[2]: v for k, v in used.items() if k.startswith(f"{part.name}.")}
    params = {**part.params, **chosen}
    return {part.name: params} if params else part.name
