"""What identifies a run that was given objects in place of some settings.

The identity of a run by settings alone is `RunSpec.id` in `fedbench/spec/run.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from fedbench.base import registry
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError
from fedbench.engine.described import described, plain, qualified, unknown
from fedbench.spec import SLUG, Choice, RunSpec

# Objects of `run` by name: the field of the settings that each replaces, and the kind under which
# plug-ins of this name are registered, if they are.
_FIELDS = {
    "data": "dataset", "model": "model", "partition": "partition", "parts": "parts",
    "sampler": "sampler", "work": "work", "probes": "watch", "loss": "loss",
}  # fmt: skip
_SINGLE = ("sampler", "work")
_KINDS = {"parts": "method", "sampler": "sampler", "work": "work", "probes": "probe"}


@dataclass(frozen=True)
class Identity:
    """The settings of a run, and descriptions of objects by the fields that they replace."""

    spec: RunSpec
    objects: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, with objects in place of their fields."""
        return self.spec.settings() | dict(self.objects)

    @property
    def id(self) -> str:
        """The run's name: readable words and 12 hexadecimal digits of the settings' hash."""
        if not self.objects:
            return self.spec.id
        words = [self._word(name) for name in ("dataset", "model", "partition")]
        words += [self._word("parts")]
        text = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(words))
        return f"{text[:SLUG]}-s{self.spec.seed}-{digest(self.settings())}"

    def _word(self, name: str) -> str:
        value = self.objects.get(name, getattr(self.spec, name))
        if name == "parts":
            words = [_class(x) if isinstance(x, dict) else x.name for x in value]
            return "-".join(words) or "fedavg"
        if isinstance(value, Choice):
            return value.name
        return str(value["name"]) if "name" in value else _class(value)

    def require_known(self, place: str) -> None:
        """Raise `FedbenchError` if two different runs could have this identity."""
        for name, description in self.objects.items():
            culprit = unknown(description)
            if culprit:
                raise FedbenchError(
                    f"{place}: a run cannot be stored with the {name} that was given, since "
                    f"the content of {culprit} is not known; make it a frozen dataclass of plain "
                    "values, arrays or tensors"
                )


def named(spec: RunSpec, objects: Mapping[str, Any]) -> RunSpec:
    """The settings in which objects stand by name; those without a name leave the default."""
    for name, kind in _KINDS.items():
        if name not in objects:
            continue
        choices = _choices(kind, _as_tuple(objects[name]))
        default = RunSpec.model_fields[_FIELDS[name]].default
        value = default if choices is None else choices[0] if name in _SINGLE else choices
        spec = spec.changed(**{_FIELDS[name]: value})
    return spec


def identify(spec: RunSpec, objects: Mapping[str, Any]) -> Identity:
    """The identity of a run of `spec`, which `named` has returned for these objects."""
    unnamed = {
        name: value
        for name, value in objects.items()
        if name not in _KINDS or _choices(_KINDS[name], _as_tuple(value)) is None
    }
    return Identity(spec, {_FIELDS[name]: described(value) for name, value in unnamed.items()})


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,)


def _choices(kind: str, objects: tuple[Any, ...]) -> tuple[Choice, ...] | None:
    """The objects as names with parameters; None unless all have a name and plain parameters."""
    choices = [_choice(kind, each) for each in objects]
    return None if None in choices else tuple(choice for choice in choices if choice)


def _choice(kind: str, value: Any) -> Choice | None:
    name = type(value).__name__.lower()
    entry = registry.entries(kind).get(name)
    if entry is None or qualified(type(value)) != f"{entry.module}.{entry.attribute}":
        return None
    params = {f.name: getattr(value, f.name) for f in fields(value)}
    if not all(plain(each) for each in params.values()):
        return None
    changed = {f.name for f in fields(value) if params[f.name] != f.default}
    return Choice(name=name, params={key: params[key] for key in params if key in changed})


def _class(description: Any) -> str:
    """The last word of a described object's class, in lower case; the word 'own' if it has none."""
    name = description.get("class", "own") if isinstance(description, dict) else "own"
    return str(name).rpartition(".")[2].lower()
