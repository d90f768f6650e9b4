"""What is chosen by name with parameters, as YAML files spell it, and settings by their names."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_serializer, model_validator

from fedbench.base import registry
from fedbench.base.checks import Strict
from fedbench.base.checksums import canonical
from fedbench.base.errors import FedbenchError, quoted
from fedbench.base.yamlfile import parse, split

_FORMS = "a name, name:parameter=value,… or {name: {parameter: value}}"


class Choice(Strict):
    """A name with parameters: `lenet5`, `lenet5:width=0.5` or `{lenet5: {width: 0.5}}` in YAML."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            name, _, given = value.partition(":")
            return {"name": name, "params": parse(split(given))} if given else {"name": value}
        if isinstance(value, dict) and "name" not in value:
            if len(value) != 1:
                raise ValueError(f"{quoted(value)} must be {_FORMS}")
            ((name, params),) = value.items()
            if not isinstance(params, dict | None):
                told = f"{quoted(params)} is no mapping of parameters"
                raise ValueError(f"{quoted(value)} must be {_FORMS}: {told}")
            value = {"name": name, "params": params}
        if isinstance(value, dict) and value.get("params", {}) is None:
            return value | {"params": {}}
        return value

    @model_serializer
    def _short(self) -> Any:
        return {self.name: self.params} if self.params else self.name

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """The schema of the short forms, which files use."""
        one = {"type": "object", "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, one], "description": cls.__doc__}

    def __str__(self) -> str:
        inner = ", ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.name}({inner})" if inner else self.name

    def build(self, kind: str) -> Any:
        """The object that it stands for, of that kind; `FedbenchError` on a bad name or value."""
        return registry.build(kind, self.name, self.params)

    def brief(self, kind: str) -> "Choice":
        """The choice without the parameters that are written at their default value."""
        if not self.params:
            return self
        entry = registry.find(kind, self.name)
        usual = {k: v for k, v in entry.fields.items() if v is not None or k in entry.nulls}
        params = {
            key: value
            for key, value in self.params.items()  # a list may be written for a tuple
            if key not in usual or canonical(value) != canonical(usual[key])
        }
        return self if params == self.params else self.model_copy(update={"params": params})


def assign(plain: dict[str, Any], key: str, value: Any) -> None:
    """Set a field, one of the search (`tune.grid`), or a parameter of each part of a name."""
    part, _, parameter = key.partition(".")
    if not parameter:
        plain[key] = value
    elif part == "tune":
        if not plain.get("tune"):
            raise FedbenchError(f"'{key}' names the search of a run that has none")
        plain["tune"] = dict(plain["tune"]) | {parameter: value}
    else:
        owners = [p for p in plain["parts"] if p["name"] == part]
        if not owners:
            raise no_part(key, "this run", [p["name"] for p in plain["parts"]])
        for owner in owners:
            owner["params"] = owner["params"] | {parameter: value}


def no_part(key: str, owner: str, names: Sequence[str]) -> FedbenchError:
    """The error for a `part.parameter` of which the owner, such as 'this run', has no part."""
    only = f"only {[*names]}" if names else "which is FedAvg and has no parts"
    return FedbenchError(f"'{key}' names no part of {owner}, {only}")
