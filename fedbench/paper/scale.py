"""What a scale's YAML file may say: how a paper is cut down to fit a machine."""

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.plugins import files_by_name
from fedbench.base.strict import Name, Strict, checked, require_name
from fedbench.base.yamlfile import load
from fedbench.paper.places import Level
from fedbench.spec import Choice, RunSpec

Replacements = dict[str, Choice]

_SUBSTITUTED = ("dataset", "model", "partition", "sampler", "parts", "watch")
_SHARES = ("participation", "validation")


class Cut(Strict):
    """Changes to a paper's runs.

    seeds: at most so many of each grid; tune: false drops the searches; factors: what numeric
    settings are multiplied by (a share stays ≤ 1, a count ≥ 1); limit: upper bounds of them;
    settings: values that replace the paper's; substitutes: by kind ('dataset', 'model', 'parts',
    'watch'), what stands in for what (same name: only the parameters given are replaced). keep: the
    tables and figures that are made, all by default; levels: the levels of an axis that are run.
    What is left out is listed in the report.
    """

    seeds: Annotated[int, Field(ge=1)] | None = None
    tune: bool | None = None
    factors: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    limit: dict[str, float] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    substitutes: dict[str, Replacements] = Field(default_factory=dict)
    keep: tuple[str, ...] | None = None
    levels: dict[str, tuple[Level, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known_fields(self) -> "Cut":
        fields = RunSpec.model_fields
        for where in ("factors", "limit", "settings"):
            for name in getattr(self, where):
                if name not in fields:
                    raise FedbenchError(f"{where}: {unknown('setting', name, fields)}")
        for kind in self.substitutes:
            if kind not in _SUBSTITUTED:
                raise FedbenchError(f"substitutes: {unknown('kind', kind, _SUBSTITUTED)}")
        return self


class Scale(Cut):
    """A cut for all papers, with further cuts for some; `about` is printed in every report.

    speeds: samples a second that one core trained on, by model as reports write it; for models
    that no run has timed yet.
    """

    about: str
    speeds: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    papers: dict[Name, Cut] = Field(default_factory=dict)

    def of(self, paper: str) -> Cut:
        """The cut of one paper: its own entries win over the common ones."""
        own = self.papers.get(paper, Cut())
        return Cut(
            seeds=own.seeds or self.seeds,
            tune=self.tune if own.tune is None else own.tune,
            factors=self.factors | own.factors,
            limit=self.limit | own.limit,
            settings=self.settings | own.settings,
            substitutes={
                kind: self.substitutes.get(kind, {}) | own.substitutes.get(kind, {})
                for kind in {*self.substitutes, *own.substitutes}
            },
            keep=self.keep if own.keep is None else own.keep,
            levels=self.levels | own.levels,
        )


def cut(settings: dict[str, Any], by: Cut) -> dict[str, Any]:
    """A run's settings after the cut."""
    small = dict(settings)
    for kind, replacements in by.substitutes.items():
        small[kind] = _substituted(small.get(kind, []), replacements)
    for field, factor in by.factors.items():
        if isinstance(small.get(field), int | float):
            small[field] = _times(field, small[field], factor)
    for field, most in by.limit.items():
        if isinstance(small.get(field), int | float):
            small[field] = min(small[field], type(small[field])(most))
    if by.tune is False:
        small.pop("tune", None)
    elif "tune" in small:
        small["tune"] = _cut_trials(small["tune"], settings, by)
    return small | by.settings


def _cut_trials(tune: Any, settings: dict[str, Any], by: Cut) -> Any:
    """A run's search; the settings of its trials are cut as the run's own are."""
    match tune:
        case {"trials": dict(trials)}:
            own = {key: value for key, value in settings.items() if key != "tune"} | trials
            small = cut(own, by)
            return tune | {"trials": {key: small[key] for key in trials}}
    return tune


def _times(field: str, value: float, factor: float) -> float:
    if not math.isfinite(value * factor):
        raise FedbenchError(f"factors: {field} = {value:g} times {factor:g} is no finite number")
    if isinstance(value, int):
        return max(1, round(value * factor))
    product = round(value * factor, 12)  # 0.05 · 6 is 0.3
    return min(1.0, product) if field in _SHARES else product


def _substituted(found: Any, replacements: Replacements) -> Any:
    """A choice, or a list of them, after replacement."""
    if isinstance(found, list | tuple):
        return [_substitute(checked(Choice, choice), replacements) for choice in found]
    return _substitute(checked(Choice, found), replacements)


def _substitute(choice: Choice, replacements: Replacements) -> dict[str, Any]:
    other = replacements.get(choice.name, choice)
    params = choice.params | other.params if other.name == choice.name else other.params
    return {"name": other.name, "params": params}


def load_scale(workflow: Path, name: str) -> Scale:
    """The scale of that name; raises `FedbenchError` naming the ones there are."""
    files = files_by_name(workflow / "scales", "*.yaml")
    if name not in files:
        raise unknown("scale", name, files)
    require_name("the file's name", name, files[name])
    return load(files[name], Scale)
