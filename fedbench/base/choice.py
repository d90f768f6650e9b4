"""A name with parameters, as YAML files spell it, and the object that it stands for."""

from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import Field, model_serializer, model_validator

from fedbench.base import registry
from fedbench.base.digest import canonical
from fedbench.base.errors import quoted
from fedbench.base.strict import Strict

if TYPE_CHECKING:  # what `Choice.build` returns; no room above this one is imported
    from fedbench.core.part import Part
    from fedbench.data.partition import Partition
    from fedbench.data.source import Source
    from fedbench.engine.probe import Probe
    from fedbench.models.architecture import Architecture
    from fedbench.report.figures.panels import Kind
    from fedbench.report.tables.facts import Fact
    from fedbench.sampling.sampler import Sampler

_FORMS = "a name or {name: {parameter: value}}"


class Choice(Strict):
    """A name with parameters: `lenet5` or `{lenet5: {width: 0.5}}` in YAML."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value:
            if len(value) != 1:
                raise ValueError(f"{quoted(value)} must be {_FORMS}")
            ((name, params),) = value.items()
            if not isinstance(params, dict | None):
                raise ValueError(
                    f"{quoted(value)} must be {_FORMS}: {quoted(params)} is no mapping of "
                    "parameters"
                )
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

    @overload
    def build(self, kind: Literal["method"]) -> "Part": ...
    @overload
    def build(self, kind: Literal["model"]) -> "Architecture": ...
    @overload
    def build(self, kind: Literal["dataset"]) -> "Source": ...
    @overload
    def build(self, kind: Literal["partition"]) -> "Partition": ...
    @overload
    def build(self, kind: Literal["sampler"]) -> "Sampler": ...
    @overload
    def build(self, kind: Literal["probe"]) -> "Probe": ...
    @overload
    def build(self, kind: Literal["figure"]) -> "Kind": ...
    @overload
    def build(self, kind: Literal["facts"]) -> "Fact": ...
    def build(self, kind: str) -> object:
        """The object that the choice stands for: `Choice(name="fedprox").build("method")`.

        Raises `FedbenchError` on an unknown name, an unknown parameter or a value out of range.
        """
        built: object = registry.build(kind, self.name, self.params)
        return built

    def brief(self, kind: str) -> "Choice":
        """The choice without the parameters that are written at their default value."""
        if not self.params:
            return self
        entry = registry.find(kind, self.name)
        params = {k: v for k, v in self.params.items() if not _is_default(entry, k, v)}
        return (
            self if len(params) == len(self.params) else self.model_copy(update={"params": params})
        )


def _is_default(entry: registry.Entry, field: str, value: Any) -> bool:
    """Whether a parameter has its default value; a list may be written for a tuple."""
    if value is None:
        return field in entry.nulls
    return field in entry.fields and bool(canonical(value) == canonical(entry.fields[field]))
