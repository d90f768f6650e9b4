"""Which settings the levels of an axis stand for, and how settings are laid over each other."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError, at, quoted
from fedbench.paper.yaml_notation import Level
from fedbench.spec import Choice, assign
from fedbench.spec.compositions import compositions, every_method, parts_of, spelled_out


def _without_seed(settings: dict[str, Any]) -> dict[str, Any]:
    """Refuses a seed among the settings, in whose place each seed of a grid would be put."""
    if "seed" in settings:
        told = "seeds are listed under `seeds` of a grid, of which a scale's `seeds` are run"
        raise FedbenchError(f"seed = {quoted(settings['seed'])} is not allowed: {told}")
    return settings


Settings = Annotated[dict[str, Any], AfterValidator(_without_seed)]
Levels = Mapping[str, Mapping[Level, Settings]]


def known_levels(axis: str, levels: Levels) -> Mapping[Level, Settings] | None:
    """What the levels of an axis stand for; None if the axis is a field of RunSpec."""
    if axis == "method":
        return {**every_method(), **levels.get(axis, {})}
    return levels.get(axis)


def level_settings(levels: Levels, axis: str, level: Level) -> Settings:
    """The settings that a level of an axis stands for."""
    by_level = known_levels(axis, levels)
    if by_level is None:
        return _without_seed({axis: level})
    with at(f"levels.{axis}.{level}"):
        return spelled_out(by_level[level] if level in by_level else _fill(by_level["each"], level))


def _fill(template: Any, level: Level) -> Any:
    if template == "$":
        return level
    if isinstance(template, dict):
        return {key: _fill(value, level) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_fill(value, level) for value in template]
    return template


def given(settings: Settings, key: str) -> list[Any]:
    """The values that settings give to a field, or to `part.parameter` of each part so named."""
    part, _, parameter = key.partition(".")
    if key in settings or not parameter:
        return [settings[key]] if key in settings else []
    if part == "tune":
        tune = settings.get("tune") or {}
        return [tune[parameter]] if parameter in tune else []
    parts = [checked(Choice, each) for each in parts_of(settings)]
    named = [each.params for each in parts if each.name == part]
    usual = registry.find("method", part).fields.get(parameter) if named else None
    return [params.get(parameter, usual) for params in named]


def layered(layers: Iterable[Settings]) -> Settings:
    """All layers in one, the later wins; parameters of parts, which any may name, are set last."""
    pairs = [pair for layer in layers for pair in layer.items()]
    fields = {key: value for key, value in pairs if "." not in key}
    return assigned(fields, [(key, value) for key, value in pairs if "." in key])


def assigned(settings: Settings, changes: Iterable[tuple[str, Any]]) -> Settings:
    """A copy of the settings with fields, or parameters of parts, set one after the other."""
    changed = settings | {"parts": [dict(checked(Choice, p)) for p in parts_of(settings)]}
    for key, value in changes:
        assign(changed, key, value)
    return changed


def with_main_values(settings: Settings, method: Level | None) -> Settings:
    """The settings, whose search also tries the values of the named method's main parameter."""
    named, tune = compositions().get(str(method)), settings.get("tune")
    grid = tune.get("grid", {}) if isinstance(tune, dict) else None
    if named is None or not named.search or not tune or not isinstance(grid, dict):
        return settings
    return settings | {"tune": tune | {"grid": grid | named.search}}
