"""Checks of input by the annotations of its fields, with one sentence for what is wrong."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from inspect import isabstract, isfunction, signature
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from fedbench.base.errors import FedbenchError, quoted, shown, unknown

M = TypeVar("M", bound=BaseModel)

NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Fraction = Annotated[float, Ge(0), Le(1)]
Share = Annotated[float, Gt(0), Le(1)]
BelowOne = Annotated[float, Ge(0), Lt(1)]
Count = Annotated[int, Ge(1), Le(1_000_000)]  # more than a million is a typing error
Layers = Annotated[int, Ge(1), Le(1_000)]
Natural = Annotated[int, Ge(0)]

LONGEST_NAME = 200  # bytes; a file name may have 255, its ending included
# Names become paths, links and labels: no character that a shell, HTML or LaTeX would interpret.
_PATTERN = r"^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=_PATTERN, max_length=LONGEST_NAME)]
Taken = Mapping[str, str]  # names that are not free, and why
_NAME_RULE = f"a name is up to {LONGEST_NAME} of the letters A-Z a-z 0-9 _ . - and not dots alone"


class Strict(BaseModel):
    """A frozen model that raises the first thing wrong as a `FedbenchError` of one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:  # a field may be misspelt as `self`
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise FedbenchError(_sentence(error, type(self))) from None

    @model_validator(mode="wrap")
    @classmethod
    def _named(cls, value: Any, handler: Any) -> Any:
        """Refuse a name that is no text, and true for a number, which pydantic would take for 1."""
        fields = value if isinstance(value, dict) else {}
        for key in fields:
            if not isinstance(key, str):
                raise unknown(f"field in {cls.__name__}", key, cls.model_fields)
        made = handler(value)
        for key, given in fields.items():
            if isinstance(given, bool) and type(made.__dict__.get(key)) in (int, float):
                raise ValueError(f"{key} = {given} is not allowed: true or false is no number")
        return made


def require_name(what: str, name: str, place: object, taken: Taken | None = None) -> None:
    """Raise `FedbenchError`, with `place` and `what`, unless `name` is a `Name` and not `taken`."""
    rule = (taken or {}).get(name, "")
    if len(name) > LONGEST_NAME or not re.fullmatch(_PATTERN, name):
        rule = _NAME_RULE
    if rule:
        raise FedbenchError(f"{place}: {what} = {quoted(name)} is not allowed: {rule}")


def checked(cls: type[M], value: Any) -> M:
    """The value as that model, from any form that the model accepts; raises `FedbenchError`."""
    try:
        return cls.model_validate(value)
    except ValidationError as error:
        raise FedbenchError(_sentence(error, cls)) from None


def _sentence(error: ValidationError, cls: type[BaseModel]) -> str:
    """The first error in words, an unknown field first; a model inside has worded its own."""
    wrong = error.errors()
    first = next((e for e in wrong if e["type"] == "extra_forbidden"), None) or _of_union(wrong)
    loc = tuple(step for step in first["loc"] if step != "[key]")
    place, context = ".".join(str(step) for step in loc), first.get("ctx", {})
    field = context.get("discriminator", "").strip("'")
    match first["type"]:
        case "extra_forbidden":
            return str(unknown(f"field in {cls.__name__}", place, cls.model_fields))
        case "missing":
            return f"{place} is missing"
        case "union_tag_invalid":  # the field that says which of several models is meant
            tags = context["expected_tags"].strip("'").split("', '")
            return f"{place}: {unknown(field, context['tag'], tags)}"
        case "union_tag_not_found":
            return f"{place}: {field} is missing"
        case "value_error":
            return f"{place}: {context['error']}" if place else str(context["error"])
        case "string_pattern_mismatch" | "string_too_long":
            rule = _NAME_RULE
        case "tuple_type" | "too_short":
            rule = _as_list(first["input"], loc)
        case _:
            rule = first["msg"][0].lower() + first["msg"][1:]
    named = f"{place} = " if place else ""
    return f"{named}{quoted(first['input'])} is not allowed: {rule}"


def _as_list(value: Any, loc: tuple[int | str, ...]) -> str:
    if isinstance(value, list | tuple | dict) and not value:
        return "at least one value is needed"
    if loc and loc[-1] == "seeds" and isinstance(value, int) and 0 < value <= 10:
        return f"it must be a list; write seeds: {[*range(value)]} for the first {value}"
    single = loc and isinstance(value, str | int | float)
    return "it must be a list" + (f"; write {loc[-1]}: [{shown(value)}]" if single else "")


# What the members of a union of plain values are called, by pydantic's name for them
_MEMBERS = {
    "str": "text", "bool": "true or false", "int": "a number", "float": "a number",
    "tuple": "a list", "dict": "a mapping",
}  # fmt: skip


def _of_union(wrong: list[Any]) -> Any:
    """The first error; of a union of plain values, what is wrong inside, or all that is allowed."""
    first = wrong[0]
    place, steps = first["loc"][:-1], len(first["loc"])
    if _member(first) not in ("str", "float"):  # the first members of our unions
        return first
    same = [e for e in wrong if e["loc"][: steps - 1] == place and len(e["loc"]) >= steps]
    inside = [e | {"loc": (*place, *e["loc"][steps:])} for e in same if len(e["loc"]) > steps]
    if inside:
        return _of_union(inside)
    words = list(dict.fromkeys(_MEMBERS.get(_member(e), "") for e in same))
    if len(same) == 1 or "" in words:
        return first
    said = f"{', '.join(words[:-1])} or {words[-1]}"
    return first | {"loc": place, "msg": f"it must be {said}", "type": "union"}


def _member(error: Any) -> str:
    """The last step as the name of a union's member, without what the member holds."""
    return str(error["loc"][-1]).partition("[")[0] if error["loc"] else ""


_SIGNS = {Ge: ("ge", "≥"), Gt: ("gt", ">"), Le: ("le", "≤"), Lt: ("lt", "<")}
_TYPES = {
    float: "a number", int: "a whole number", str: "a word",
    bool: "true or false", list: "a list", dict: "a mapping",
}  # fmt: skip


def allowed(hint: Any) -> str:
    """A field's annotation in words: `Annotated[float, Ge(0), Lt(1)]` is 'a number ≥ 0, < 1'."""
    if get_origin(hint) is Annotated:
        base, *limits = get_args(hint)
        bounds = [f"{_SIGNS[type(x)][1]} {getattr(x, _SIGNS[type(x)][0])}" for x in limits]
        return f"{allowed(base)} {', '.join(bounds)}"
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list, each {allowed(get_args(hint)[0])}"
    if type(None) in get_args(hint):
        return " or ".join([allowed(x) for x in get_args(hint) if x is not type(None)] + ["null"])
    return _TYPES.get(get_origin(hint) or hint, str(hint))


@cache
def hints(cls: Any) -> dict[str, Any]:
    """Annotations of a dataclass's fields, ranges included."""
    annotations = get_type_hints(cls, include_extras=True)
    return {f.name: annotations[f.name] for f in fields(cls)}


@cache
def _adapters(cls: Any) -> dict[str, TypeAdapter[Any]]:
    strict = ConfigDict(strict=True, allow_inf_nan=False)
    return {k: TypeAdapter(v, config=strict) for k, v in hints(cls).items()}


def require_hooks(place: str, cls: type, base: type, some: bool = True) -> None:
    """Raise `FedbenchError` if a user's class has a misspelt hook of its base, or lacks any."""
    if cls.__module__.startswith("fedbench."):
        return
    typed = {each for c in cls.__mro__ for each in vars(c).get("__annotations__", {})}
    names = [name for name in vars(base) if not name.startswith("_")]
    own = [key for key in vars(cls) if key[0] != "_" and key not in typed and key not in names]
    for key in own:
        mixed = [name for name in names if sorted(name) == sorted(key.lower())]  # step of 'setp'
        if near := mixed + get_close_matches(key, names, 1, cutoff=0.85):
            said = f"{place} has no hook '{key}'; did you mean '{near[0]}'?"
            raise FedbenchError(f"{said} Name a method of its own '_{key}'")
    # `require` and `cost` do nothing in a run
    hooks = [k for k in names if isfunction(vars(base)[k]) and k not in ("require", "cost")]
    some = some and not isabstract(base)  # whose hooks Python asks for itself
    if some and all(getattr(cls, hook) is vars(base)[hook] for hook in hooks):
        raise FedbenchError(f"{place} overrides no hook; hooks: {', '.join(hooks)}")


def asked_for(
    rule: Callable[..., Any], places: int, **offered: Callable[[], Any]
) -> dict[str, Any]:
    """What of the `offered` a user's rule names beside its first arguments; only that is made."""
    own = names_of(rule)
    asked = [name for name in offered if name in own]
    try:
        signature(rule).bind(*range(places), **dict.fromkeys(asked))
    except TypeError as error:  # "missing a required argument: 'sizes'"
        what = getattr(rule, "__qualname__", None) or f"{type(rule).__name__}.__call__"
        said = f"beside its {places} arguments it may take {', '.join(offered)}"
        raise FedbenchError(f"{what}: {error}; {said}") from None
    return {name: offered[name]() for name in asked}


def names_of(rule: Callable[..., Any]) -> Collection[str]:
    """Parameters of a function, or of what an object does when it is called, but no *args."""
    named = signature(rule).parameters.values()
    return [x.name for x in named if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]


class Checked:
    """Base of every dataclass of parameters; raises `FedbenchError` on a value out of range."""

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, adapter in _adapters(cls).items():
            value = getattr(self, name)
            try:
                adapter.validate_python(value)
            except ValidationError:
                infinite = value in (float("inf"), float("-inf"))  # which no bound refuses
                rule = allowed(hints(cls)[name]) + " and finite" * infinite
                said = f"{name} = {quoted(value)} is not allowed; it must be {rule}"
                raise FedbenchError(f"{cls.__name__}: {said}") from None
