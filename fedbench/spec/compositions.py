"""Methods under the names that papers give them: their parts, and the settings that they need."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.checks import Strict, checked
from fedbench.base.errors import FedbenchError, at, quoted, require_among
from fedbench.base.plugins import composition_files
from fedbench.base.yamlfile import read_yaml
from fedbench.spec.choice import Choice
from fedbench.spec.fields import RunSettings

# Names with a meaning of their own, and which: levels and methods stand where these words may.
RESERVED_LEVELS = {"each": "under `levels` it stands for every level that is not listed"}
RESERVED_METHODS = RESERVED_LEVELS | {
    "others": "claims name all other methods by it",
    "all": "the workflow's setting `train` names every method by it",
    "none": "the workflow's setting `train` names no method by it",
}
_Values = Annotated[tuple[int | float, ...], Field(min_length=1)]
FILE = Path(__file__).with_suffix(".yaml")


class Composition(Strict):
    """A named method: its parts, the settings that it needs, and where it was published."""

    parts: tuple[Choice, ...]
    """The parts, in order; none is FedAvg."""
    settings: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Settings of a run that the method needs beside its parts."""
    search: dict[str, _Values] = Field(default_factory=dict)
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
        with at("with"):
            RunSettings(**self.settings)
            for name in self.settings.keys() & {"parts", "seed", "data_seed"}:
                raise FedbenchError(f"{name} is not of a method; parts stand in its own `parts`")
        for key in self.search:
            name, _, parameter = key.partition(".")
            require_among("search", "part", name, [part.name for part in self.parts])
            registry.require_known("method", name, {parameter: None})
        return self

    def run_settings(self) -> dict[str, Any]:
        """The settings that make a run use this method: `RunSpec(**run_settings(), …)`."""
        return {"parts": list(self.parts), **self.settings}


def compositions(file: Path = FILE) -> dict[str, Composition]:
    """All named methods, those of the file first; raises `FedbenchError` on two of one name."""
    return _read((file, *composition_files()))


def every_method() -> dict[Any, dict[str, Any]]:
    """The settings of named methods, and of methods in plug-in folders that none of them has."""
    methods: dict[Any, dict[str, Any]] = {k: v.run_settings() for k, v in compositions().items()}
    used = {part.name for method in compositions().values() for part in method.parts}
    for name, entry in registry.entries("method").items():
        if entry.sha256 and name not in used:
            methods[name] = {"parts": [name]}
    return methods


def own_methods() -> set[str]:
    """The names of the methods to compare that come from plug-in folders."""
    return {str(name) for name in every_method()} - {*_read((FILE,))}


def full(parts: tuple[Choice, ...]) -> list[tuple[str, dict[str, Any]]]:
    """Each part's name with all of its parameters, those at their defaults included."""
    return [(x.name, registry.find("method", x.name).fields | x.params) for x in parts]


@cache
def _read(files: tuple[Path, ...]) -> dict[str, Composition]:
    methods: dict[str, Composition] = {}
    origin: dict[str, Path] = {}
    for file in files:
        for name, fields in read_yaml(file).items():
            if origin.setdefault(name, file) != file:
                raise FedbenchError(
                    f"two methods are named '{name}': in {origin[name]} and in {file}; rename one"
                )
            with at(str(file)):
                methods[name] = _method(name, fields)
    return methods


def _method(name: Any, fields: Any) -> Composition:
    """The method; refuses what lists of parts would take for something else."""
    if not isinstance(name, str):  # lists of parts and levels of `method` name it as text
        raise FedbenchError(f"{name} is not allowed as the name of a method; write '{name}'")
    require_free("a method", name, RESERVED_METHODS)
    with at(name):
        if not isinstance(fields, dict):
            raise FedbenchError("must be a mapping of fields (parts, with, citation)")
        method = checked(Composition, fields)
        part = registry.entries("method").get(name)
        if part and (method.settings or full(method.parts) != full((Choice(name=name),))):
            raise FedbenchError(
                f"{part.file} has a part of the same name; rename the method, or write parts: "
                f"[{name}] without `with`"
            )
    return method


def require_free(kind: str, name: object, reserved: Mapping[str, str]) -> None:
    """Raise `FedbenchError` on a name that has a meaning of its own."""
    if isinstance(name, str) and name in reserved:
        raise FedbenchError(f"{kind} cannot be called '{name}': {reserved[name]}; rename it")


def fixed_settings(parts: Sequence[Any]) -> dict[str, Any]:
    """The settings that a run of these parts always has, whatever else is given."""
    entries, names = registry.entries("method"), [checked(Choice, each).name for each in parts]
    known = [entries[name].constants for name in names if name in entries]
    return {k: v for constants in known for k, v in constants.get("SETTINGS", {}).items()}


def spelled_out(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with a named method's parts in its place, and what it needs if not set."""
    if "parts" not in settings:
        return dict(settings)
    parts: list[Any] = []
    needed: dict[str, Any] = {}
    for each in parts_of(settings):
        own, with_them = _spelled_out(each)
        parts += own
        for key in needed.keys() & with_them.keys() - settings.keys():
            if needed[key] != with_them[key]:
                both = f"{quoted(needed[key])} and {quoted(with_them[key])}"
                raise FedbenchError(f"parts: its methods need {key} = {both}; set {key}")
        needed |= with_them
    return {**needed, **settings, "parts": parts}


def parts_of(settings: Mapping[str, Any]) -> Sequence[Any]:
    """The parts that settings name; raises `FedbenchError` if they are not a list."""
    parts = settings.get("parts", ())
    if not isinstance(parts, list | tuple):
        wanted = f"; write parts: [{parts}]" if isinstance(parts, str) else ""
        raise FedbenchError(f"parts = {quoted(parts)} is not allowed: it must be a list{wanted}")
    return parts


def _spelled_out(written: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """The parts of a part or method, and the settings that these need."""
    choice, parts = checked(Choice, written), registry.entries("method")
    name = choice.name
    if name in parts:
        return [written], {}  # as it is written: plans repeat it
    methods = compositions()
    # case counts only where two names differ in nothing else
    alike = [other for other in methods if other.lower() == name.lower()]
    if name not in methods and len(alike) != 1:
        if name.lower() in parts and not alike:
            return [{name.lower(): choice.params}], {}
        raise registry.no_entry("method", name, [*parts, *methods])
    method = methods[name if name in methods else alike[0]]
    if choice.params:  # they belong to one part; a method may have several, or none
        own = " and ".join(part.name for part in method.parts) or "none"
        raise FedbenchError(
            f"parts: {name} = {quoted(choice.params)} is not allowed: a named method takes no "
            f"parameters; set them on its parts ({own})"
        )
    return method.parts, method.settings
