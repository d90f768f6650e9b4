"""Methods under the names that papers give them: their parts, and the settings that they need."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.strict import Strict
from fedbench.base.yamlfile import read_yaml
from fedbench.spec import Choice, RunSpec

FILE = Path(__file__).with_suffix(".yaml")


class Composition(Strict):
    """A named method: its parts, the settings that it needs, and where it was published."""

    parts: tuple[Choice, ...]
    """The parts, in order; none is FedAvg."""
    settings: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Settings of a run that the method needs beside its parts."""
    papers: tuple[Literal["fedadc", "feddpc", "rmfl", "fedgkd", "asd"], ...] = ()
    """The papers of this project that use the method."""
    citation: str
    """Authors, venue and year of its publication."""

    @model_validator(mode="after")
    def _known_names(self) -> "Composition":
        for part in self.parts:
            registry.check("method", part.name, part.params)
        for name in self.settings:
            if name not in RunSpec.model_fields:
                raise FedbenchError(f"with: {unknown('setting', name, RunSpec.model_fields)}")
        return self

    def run_settings(self) -> dict[str, Any]:
        """The settings that make a run use this method: `RunSpec(**run_settings(), …)`."""
        return {"parts": list(self.parts), **self.settings}


@cache
def compositions(file: Path = FILE) -> dict[str, Composition]:
    """All named methods, in the order of the file."""
    return {name: _checked(file, name, fields) for name, fields in read_yaml(file).items()}


def named(name: str) -> Composition:
    """The method of that name; raises `FedbenchError` with the nearest name otherwise."""
    known = compositions()
    if name not in known:
        raise unknown("method", name, known)
    return known[name]


def _checked(file: Path, name: str, fields: Any) -> Composition:
    if not isinstance(fields, dict):
        raise FedbenchError(f"{file}: {name}: must be a mapping of fields (parts, with, citation)")
    try:
        return Composition(**fields)
    except FedbenchError as error:
        raise FedbenchError(f"{file}: {name}: {error}") from None
