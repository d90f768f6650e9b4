"""Methods under the names that papers give them: their parts, and the settings that they need."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, create_model, model_validator

from fedbench.base import registry
from fedbench.base.checks import Strict, checked
from fedbench.base.errors import FedbenchError, at, unknown
from fedbench.base.plugins import composition_files
from fedbench.base.yamlfile import read_yaml
from fedbench.paper.places import RESERVED_METHODS, Level, require_free
from fedbench.spec import Choice, RunSpec

FILE = Path(__file__).with_suffix(".yaml")


_OF_A_RUN: dict[str, Any] = {
    n: (field.annotation, field) for n, field in RunSpec.model_fields.items()
}
# Each field is checked by itself: what several mean together depends on the run
_Fields = create_model("RunSpec", __base__=Strict, **_OF_A_RUN)


class Composition(Strict):
    """A named method: its parts, the settings that it needs, and where it was published."""

    parts: tuple[Choice, ...]
    """The parts, in order; none is FedAvg."""
    settings: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Settings of a run that the method needs beside its parts."""
    search: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """Values of its main parameter that a comparison of many methods tries, by `part.parameter`."""
    papers: tuple[Literal["fedadc", "feddpc", "rmfl", "fedgkd", "asd"], ...] = ()
    """The papers of this project that use the method."""
    citation: str = ""
    """Authors, venue and year of its publication; empty for a method that has none yet."""
    note: str = ""
    """What a user of its name should know."""

    @model_validator(mode="after")
    def _known_names(self) -> "Composition":
        for part in self.parts:
            registry.require_known("method", part.name, part.params)
        for name in self.settings:
            if name not in RunSpec.model_fields:
                raise FedbenchError(f"with: {unknown('setting', name, RunSpec.model_fields)}")
        with at("with"):
            _Fields(**self.settings)
        for name, values in self.search.items():
            self._check_search(name, values)
        return self

    def _check_search(self, name: str, values: tuple[float, ...]) -> None:
        part, _, parameter = name.partition(".")
        if part not in {each.name for each in self.parts}:
            raise FedbenchError(f"search: {unknown('part', part, [p.name for p in self.parts])}")
        if not values:
            raise FedbenchError(f"search.{name}: the list is empty; at least one value is needed")
        registry.require_known("method", part, {parameter: values[0]})

    def run_settings(self) -> dict[str, Any]:
        """The settings that make a run use this method: `RunSpec(**run_settings(), …)`."""
        return {"parts": list(self.parts), **self.settings}


def compositions(file: Path = FILE) -> dict[str, Composition]:
    """All named methods in the order of the file, then those of plug-in folders.

    Raises `FedbenchError` naming both files if two define the same name.
    """
    return _read((file, *composition_files()[1:]))


def every_method() -> dict[Level, dict[str, Any]]:
    """The settings of all methods to compare, by name.

    These are the named methods, and the methods of plug-in folders that no named one is made of.
    """
    named: dict[Level, dict[str, Any]] = {k: v.run_settings() for k, v in compositions().items()}
    used = {part.name for method in compositions().values() for part in method.parts}
    plugged = [e.name for e in registry.entries("method").values() if e.sha256]
    return {**named, **{name: {"parts": [name]} for name in plugged if name not in used}}


def own_methods() -> set[str]:
    """The names of the methods to compare that come from plug-in folders."""
    return {str(name) for name in every_method()} - {*_read((FILE,))}


def name_of(run: RunSpec) -> str | None:
    """The first named method whose parts, with all their parameters, and settings the run has."""
    parts = _full(run.parts)
    for name, method in compositions().items():
        if _full(method.parts) == parts and run.changed(**method.settings) == run:
            return name
    return None


def _full(parts: tuple[Choice, ...]) -> list[tuple[str, dict[str, Any]]]:
    return [(x.name, registry.find("method", x.name).fields | x.params) for x in parts]


@cache
def _read(files: tuple[Path, ...]) -> dict[str, Composition]:
    methods: dict[str, Composition] = {}
    origin: dict[str, Path] = {}
    for file in files:
        for name, fields in read_yaml(file).items():
            _require_name(file, name)
            if origin.setdefault(name, file) != file:
                raise FedbenchError(
                    f"two named methods are called '{name}': in {origin[name]} and in {file}; "
                    "rename one of them"
                )
            methods[name] = _checked(file, name, fields)
    return methods


def _require_name(file: Path, name: Any) -> None:
    if not isinstance(name, str):  # lists of parts and levels of `method` name it as text
        raise FedbenchError(
            f"{file}: {name} is not allowed as the name of a method: a name is text, not a number; "
            f"write it in quotes: '{name}'"
        )
    with at(str(file)):
        require_free("a method", name, RESERVED_METHODS)


def named(name: str) -> Composition:
    """The method of that name; raises `FedbenchError` with the nearest name otherwise."""
    methods = compositions()
    if name not in methods:
        raise registry.no_entry("method", name, methods)
    return methods[name]


def _checked(file: Path, name: str, fields: Any) -> Composition:
    if not isinstance(fields, dict):
        raise FedbenchError(f"{file}: {name}: must be a mapping of fields (parts, with, citation)")
    with at(f"{file}: {name}"):
        method = checked(Composition, fields)
        _refuse_another_part(name, method)
    return method


def _refuse_another_part(name: str, method: Composition) -> None:
    """Raise `FedbenchError` if lists of parts would mean the part of this name, not the method."""
    part = registry.entries("method").get(name)
    same = part and _full(method.parts) == _full((Choice(name=name),)) and not method.settings
    if part and not same:
        raise FedbenchError(
            f"{part.file} has a part of the same name, which lists of parts would mean; rename the "
            f"method, or write parts: [{name}] without `with`"
        )
