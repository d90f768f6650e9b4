"""Frozen dataclasses whose fields are checked once, when they are made.

Parts of methods, partitions, models, samplers and data sources are all `Checked`. Each parameter's
annotation says its range, so that a bad value is refused in one sentence and `fedbench list` can
print what is allowed.
"""

from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, TypeAdapter, ValidationError

from fedbench.base.errors import FedbenchError, quoted

NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Fraction = Annotated[float, Ge(0), Le(1)]
Share = Annotated[float, Gt(0), Le(1)]
BelowOne = Annotated[float, Ge(0), Lt(1)]
Count = Annotated[int, Ge(1), Le(1_000_000)]  # more than a million is a typing error
Layers = Annotated[int, Ge(1), Le(1_000)]
Natural = Annotated[int, Ge(0)]

_SIGNS = {Ge: ("ge", "≥"), Gt: ("gt", ">"), Le: ("le", "≤"), Lt: ("lt", "<")}
_NAMES = {
    float: "a number",
    int: "a whole number",
    str: "a word",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


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
    return _NAMES.get(get_origin(hint) or hint, str(hint))


@cache
def _adapters(cls: Any) -> dict[str, TypeAdapter[Any]]:
    strict = ConfigDict(strict=True, allow_inf_nan=False)
    return {k: TypeAdapter(v, config=strict) for k, v in hints(cls).items()}


@cache
def hints(cls: Any) -> dict[str, Any]:
    """Annotations of a dataclass's fields, ranges included."""
    annotations = get_type_hints(cls, include_extras=True)
    return {f.name: annotations[f.name] for f in fields(cls)}


def _finite(value: Any) -> str:
    """' and finite' for an infinite number, which no bound of the annotation refuses."""
    return " and finite" if value in (float("inf"), float("-inf")) else ""


class Checked:
    """Base of every dataclass of parameters; raises `FedbenchError` on a value out of range."""

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, adapter in _adapters(cls).items():
            value = getattr(self, name)
            try:
                adapter.validate_python(value)
            except ValidationError:
                rule = allowed(hints(cls)[name]) + _finite(value)
                raise FedbenchError(
                    f"{cls.__name__}: {name} = {quoted(value)} is not allowed; it must be {rule}"
                ) from None
