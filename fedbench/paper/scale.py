"""What a scale's YAML file may say: how a paper is cut down to fit a machine."""

import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.checks import Name, Natural, Positive, Strict, checked
from fedbench.base.errors import FedbenchError, at, require_among
from fedbench.base.plugins import load_named
from fedbench.paper.axis_levels import Settings
from fedbench.paper.tables_and_figures import Axes
from fedbench.paper.yaml_notation import Level, Where, as_tuple
from fedbench.spec import LISTED, NAMED, Choice, RunSpec

_KINDS = {name: name for name in NAMED} | LISTED  # the setting → the kind of what it names
_SHARES = ("participation", "validation")


class Numbers(Strict):
    """Changes to the numbers of a paper's runs that make them cheaper."""

    factors: dict[str, Positive] = Field(default_factory=dict)
    """Numeric settings are multiplied by these; a share stays at most 1, a count at least 1."""
    limit: dict[str, float] = Field(default_factory=dict)
    """Upper bounds of numeric settings, which apply after the factors."""
    settings: Settings = Field(default_factory=dict)
    """Values that replace those of the paper, last of all."""
    trial_limit: dict[str, float] = Field(default_factory=dict)
    """Upper bounds of numeric settings of the trials of searches, below those of the run."""

    @model_validator(mode="after")
    def _of_settings(self) -> "Numbers":
        """Refuse what is no setting, or no number, and decimals in the limit of a whole number."""
        for place in Numbers.model_fields:
            known = RunSpec.model_fields if place == "settings" else _numbers()
            for name, value in getattr(self, place).items():
                kind = "setting" if place == "settings" else "numeric setting"
                require_among(place, kind, name, known)
                if "limit" in place and value % 1 and not _numbers()[name]:
                    raise FedbenchError(f"{place}: {name} = {value:g} must be a whole number")
        return self


@cache
def _numbers() -> dict[str, bool]:
    """The settings that are numbers, each with whether it may have decimals."""
    fields = RunSpec.model_json_schema()["properties"].items()
    types = {name: {x.get("type") for x in told.get("anyOf", [told])} for name, told in fields}
    types.pop("seed")  # a grid's seeds take its place
    return {k: "number" in found for k, found in types.items() if found & {"integer", "number"}}


class ScaleCase(Numbers):
    """Changes to some of the runs; they win over the same ones for all runs."""

    where: Where
    """The runs meant, by what the paper says of them: names of data sets and models, numbers, and
    parameters of what is named ({dataset: [agnews, sst5], model: distilbert, partition.alpha: 0.1,
    participation: 0.01})."""

    def means(self, settings: Settings) -> bool:
        """Whether a run with these settings, as in the paper, is meant."""
        for name, wanted in self.where.items():
            field, _, parameter = name.partition(".")
            if field not in settings:
                return False
            value = settings[field]
            if parameter:
                value = checked(Choice, value).params.get(parameter)
            elif not isinstance(value, int | float | None):  # a number is compared as it is
                value = checked(Choice, value).name
            if value not in as_tuple(wanted):
                return False
        return True


class SeedCase(Strict):
    """How many seeds some points of a paper's grids have."""

    seeds: Natural
    """The most seeds: the first ones are run; 0 leaves these points out."""
    where: Where = Field(default_factory=dict)
    """The points meant, by their levels: {method: [MFL, RMFL]}; all by default."""
    grids: tuple[str, ...] = ()
    """The grids meant; all by default."""

    def means(self, grid: str, coords: dict[str, Level]) -> bool:
        """Whether this point of this grid is meant; a point without an axis of `where` is not."""
        there = all(coords.get(axis) in as_tuple(wanted) for axis, wanted in self.where.items())
        return there and (not self.grids or grid in self.grids)


def worded(where: Where) -> str:
    """Levels or settings in words: 'dataset CIFAR-10 and method "MFL, dampened", RMFL'."""
    return " and ".join(
        f"{axis} {', '.join(quoted(str(level)) for level in as_tuple(wanted))}"
        for axis, wanted in where.items()
    )


def quoted(name: str) -> str:
    """The name, in quotes where a reader could not tell where it ends: "MFL, dampened"."""
    return f'"{name}"' if any(sign in name for sign in (", ", " = ", " and ")) else name


class Cut(Numbers):
    """Changes to a paper's runs that make them cheaper; the report lists what they leave out."""

    about: str = ""
    """What to know of these changes, and why they are made; the paper's page prints it."""
    seeds: Annotated[int, Field(ge=1)] | None = None
    """The most seeds of each grid: the first ones are run."""
    seed_cases: tuple[SeedCase, ...] = ()
    """Other numbers of seeds for some points; the last case that means a point decides."""
    tune: bool | None = None
    """false drops the searches, so that runs use the settings written beside them."""
    cases: tuple[ScaleCase, ...] = ()
    """Further changes to the runs of some data sets or models."""
    substitutes: dict[str, dict[str, Choice]] = Field(default_factory=dict)
    """What replaces what, by kind ('dataset', 'model', 'partition', 'sampler', 'work', 'parts',
    'watch'): {dataset: {cifar10: digits}}. Where the name stays, only the parameters given are
    replaced."""
    keep: tuple[str, ...] | None = None
    """The tables, figures and facts that are made, by name; all of them by default."""
    levels: Axes = Field(default_factory=dict)
    """The levels of an axis that are run, by axis; all of them by default."""

    @model_validator(mode="after")
    def _known_names(self) -> "Cut":
        """Refuse the name of a setting, or of what a setting names, that nothing has."""
        for name, levels in [pair for case in self.cases for pair in case.where.items()]:
            field, dot, _ = name.partition(".")
            require_among("cases.where", "setting", field, RunSpec.model_fields.keys() - LISTED)
            if dot:
                entries = registry.entries(field) if field in NAMED else {}
                known = {f"{field}.{x}" for entry in entries.values() for x in entry.fields}
                require_among("cases.where", "parameter", name, known)
            with at(f"cases.where.{name}"):
                for level in as_tuple(levels) if name in NAMED else ():
                    registry.find(name, str(level))
        for kind, replacements in self.substitutes.items():
            require_among("substitutes", "kind", kind, _KINDS.keys() - {"shift"})
            with at(f"substitutes.{kind}"):
                for name, other in replacements.items():
                    registry.find(_KINDS[kind], name)
                    registry.require_known(_KINDS[kind], other.name, other.params)
        return self

    def numbers(self, settings: Settings) -> Numbers:
        """The changes to the numbers of a run with these settings, as in the paper."""
        changes: dict[str, dict[str, Any]] = {field: {} for field in Numbers.model_fields}
        for each in (self, *(case for case in self.cases if case.means(settings))):
            for field in changes:
                changes[field] |= getattr(each, field)
        return Numbers(**changes)


class Scale(Cut):
    """How papers are cut down to fit a machine: a cut for all papers, and further cuts for some."""

    about: str
    """What this scale is for and what it leaves out; every report prints it."""
    speeds: dict[str, Positive] = Field(default_factory=dict)
    """Samples per second that one core trains on, by model as reports write it: the plan uses them
    until a run has been timed."""
    papers: dict[Name, Cut] = Field(default_factory=dict)
    """Further cuts by paper; an entry here wins over the same entry for all papers."""

    def of(self, paper: str) -> Cut:
        """The cut of one paper: entries for this paper win over those for all papers."""
        special = self.papers.get(paper, Cut())
        substitutes = self.substitutes | {
            kind: self.substitutes.get(kind, {}) | own for kind, own in special.substitutes.items()
        }
        own = {field: getattr(special, field) for field in Numbers.model_fields}
        few = (SeedCase(seeds=special.seeds),) if special.seeds else ()
        given = {k: x for k in ("seeds", "tune", "keep") if (x := getattr(special, k)) is not None}
        joined: dict[str, Any] = {field: getattr(self, field) for field in Cut.model_fields} | given
        joined |= {
            "about": special.about,
            "substitutes": substitutes,
            "levels": self.levels | special.levels,
            "cases": (*self.cases, ScaleCase(where={}, **own), *special.cases),  # the later wins
            "seed_cases": (*self.seed_cases, *few, *special.seed_cases),
        }
        return Cut(**joined)


def cut(settings: Settings, by: Cut) -> Settings:
    """A run's settings after the cut."""
    small, numbers = dict(settings), by.numbers(settings)
    for kind, replacements in by.substitutes.items():
        small[kind] = _substituted(small.get(kind, []), replacements)
    for field, factor in numbers.factors.items():
        if isinstance(small.get(field), int | float):
            small[field] = _times(field, small[field], factor)
    small |= _above(small, numbers.limit)
    if by.tune is False:
        small.pop("tune", None)
    for stage in ("trials", "first"):  # they are cut as the run itself is
        tune = small.get("tune")
        if isinstance(tune, dict) and isinstance(own := tune.get(stage), dict):
            of_stage = cut({k: v for k, v in settings.items() if k != "tune"} | own, by)
            small["tune"] = tune | {stage: {key: of_stage[key] for key in own}}
    small |= numbers.settings
    if isinstance(tune := small.get("tune"), dict):
        small["tune"] = _shortened(tune, small, numbers)
    return small


def _shortened(tune: Settings, run: Settings, by: Numbers) -> Settings:
    """A run's search whose trials and first stage are within the limits."""
    trials, first = tune.get("trials") or {}, tune.get("first")
    if shorter := _above(run | trials, by.trial_limit):
        tune = tune | {"trials": trials | shorter}
    if isinstance(first, dict):
        shorter = _above(first, {k: most for k, most in by.trial_limit.items() if k in first})
        tune = tune | {"first": first | shorter}
    return tune


def _above(settings: Settings, limits: dict[str, float]) -> Settings:
    """The limits of the numbers among the settings, left at their defaults or not, above them."""
    values = {key: settings.get(key, RunSpec.model_fields[key].default) for key in limits}
    return {
        key: most if _numbers()[key] else int(most)
        for key, most in limits.items()
        if isinstance(values[key], int | float) and values[key] > most
    }


def _times(field: str, value: float, factor: float) -> float:
    if not math.isfinite(value * factor):
        raise FedbenchError(f"factors: {field} = {value:g} times {factor:g} is not a finite number")
    if field in _SHARES:
        return min(1.0, round(value * factor, 12))
    if not _numbers()[field]:
        return max(1, round(value * factor))
    return round(value * factor, 12)  # 0.05 · 6 is 0.3


def _substituted(chosen: Any, replacements: dict[str, Choice]) -> Any:
    if isinstance(chosen, list | tuple):
        return [_substituted(each, replacements) for each in chosen]
    choice = checked(Choice, chosen)
    other = replacements.get(choice.name, choice)
    params = choice.params | other.params if other.name == choice.name else other.params
    return {"name": other.name, "params": params}


def load_scale(workflow: Path, name: str) -> tuple[Path, Scale]:
    """A scale's file, and what it says; `FedbenchError` names the file and what is wrong."""
    scales, _, files = load_named(workflow / "scales", "scale", Scale, (name,))
    return files[name], scales[name]
