"""Pydantic models that refuse in one sentence: the field, the bad value, what is allowed."""

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fedbench.base.errors import FedbenchError, quoted, shown, unknown

M = TypeVar("M", bound=BaseModel)
Location = tuple[int | str, ...]

LONGEST_NAME = 200  # bytes; a file name may have 255, its ending included
# Names become paths, links and labels: no character that a shell, HTML or LaTeX would interpret.
_PATTERN = r"^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=_PATTERN, max_length=LONGEST_NAME)]
_NAME = re.compile(_PATTERN.replace("$", r"\Z"))
_NAMES = f"a name is up to {LONGEST_NAME} of the letters A-Z a-z 0-9 _ . - and not dots alone"


class Strict(BaseModel):
    """A frozen model that refuses unknown fields, infinite numbers and NaN.

    The first thing wrong is raised as a `FedbenchError` of one sentence. A text below a field
    describes it in the JSON schemas, which editors show.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def __init__(self, /, **data: Any) -> None:  # a field may be misspelt as `self`
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise FedbenchError(sentence(error, type(self))) from None

    @model_validator(mode="wrap")
    @classmethod
    def _named(cls, value: Any, handler: Any) -> Any:
        """Refuse a field whose name is not text, and true or false where a number is wanted.

        Python cannot pass on a number as a name, and pydantic would take true for 1.0.
        """
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, str):
                raise unknown(f"field in {cls.__name__}", key, cls.model_fields)
        made = handler(value)
        for key, given in value.items() if isinstance(value, dict) else ():
            if isinstance(given, bool) and isinstance(made.__dict__.get(key), float):
                raise ValueError(f"{key} = {given} is not allowed: true or false is no number")
        return made


def require_name(what: str, name: str, place: object) -> None:
    """Raise `FedbenchError`, with `place` and `what` in it, unless `name` is a `Name`."""
    if len(name) > LONGEST_NAME or not _NAME.match(name):
        raise FedbenchError(f"{place}: {what} = {quoted(name)} is not allowed: {_NAMES}")


def checked(cls: type[M], value: Any) -> M:
    """The value as that model, from any form that the model accepts; raises `FedbenchError`."""
    try:
        return cls.model_validate(value)
    except ValidationError as error:
        raise FedbenchError(sentence(error, cls)) from None


def sentence(error: ValidationError, cls: type[BaseModel]) -> str:
    """The first error in words; an unknown field goes first, as it explains missing ones."""
    wrong = error.errors()
    typos = [e for e in wrong if e["type"] == "extra_forbidden"]
    first = typos[0] if typos else _of_union(wrong)
    loc = tuple(step for step in first["loc"] if step != "[key]")
    place = ".".join(str(x) for x in loc)
    if first["type"] == "extra_forbidden":
        return str(unknown(f"field in {_owner(cls, loc)}", loc[-1], _known(cls, loc)))
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"].startswith("union_tag"):
        return f"{place}: {_tag(first['ctx'])}"
    if first["type"] == "value_error":
        message = str(first["ctx"]["error"])
        return f"{place}: {message}" if place else message
    named = (
        first["type"] == "string_pattern_mismatch"
        or first.get("ctx", {}).get("max_length") == LONGEST_NAME
    )
    what = f"{place} = {quoted(first['input'])}" if place else quoted(first["input"])
    return f"{what} is not allowed: {_NAMES if named else _rule(first, loc)}"


# What the members of a union of plain values are called, by pydantic's name for them
_MEMBERS = {
    "str": "text", "bool": "true or false", "int": "a number", "float": "a number",
    "tuple": "a list", "dict": "a mapping",
}  # fmt: skip


def _of_union(wrong: list[Any]) -> Any:
    """The first error, without the steps that name a member of a union of plain values.

    Of a list or mapping it is what is wrong inside of it; of any other value it says everything
    that is allowed, where pydantic has an error for each member.
    """
    first = wrong[0]
    place, tag = first["loc"][:-1], _member(first["loc"][-1:])
    if tag not in ("str", "float"):  # the first members of our unions
        return first
    same = [e for e in wrong if e["loc"][: len(place)] == place and len(e["loc"]) > len(place)]
    held = first["input"]
    tag = "tuple" if isinstance(held, list | tuple) else "dict" if isinstance(held, dict) else tag
    steps = len(place) + 1
    inside = [e for e in same if len(e["loc"]) > steps and _member(e["loc"][steps - 1 :]) == tag]
    if inside:
        return _of_union([e | {"loc": (*place, *e["loc"][steps:])} for e in inside])
    words = list(dict.fromkeys(_MEMBERS.get(_member(e["loc"][-1:]), "") for e in same))
    if len(same) == 1 or "" in words:
        return first
    said = f"{', '.join(words[:-1])} or {words[-1]}"
    return first | {"loc": place, "msg": f"it must be {said}", "type": "union"}


def _member(loc: Location) -> str:
    """The step as the name of a member, without what the member holds."""
    return str(loc[0]).partition("[")[0] if loc else ""


def _rule(error: Any, loc: Location) -> str:
    """What is allowed; where a list is wanted and one value given, how to write it as a list."""
    if error["type"] != "tuple_type":
        return _lower(error["msg"])
    value = error["input"]
    if loc and loc[-1] == "seeds" and isinstance(value, int) and 0 < value <= 10:
        return f"it must be a list; write seeds: {[*range(value)]} for the first {value}"
    single = loc and isinstance(value, str | int | float)
    return "it must be a list" + (f"; write {loc[-1]}: [{shown(value)}]" if single else "")


def _tag(context: dict[str, Any]) -> str:
    """What is wrong with the field that says which of several models is meant, such as `kind`."""
    field = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{field} is missing"
    return str(unknown(field, context["tag"], context["expected_tags"].strip("'").split("', '")))


def _lower(message: str) -> str:
    return message[0].lower() + message[1:]


def _owner(cls: type[BaseModel], loc: Location) -> str:
    inside = ".".join(str(x) for x in loc[:-1])
    return inside or cls.__name__


def _known(cls: type[BaseModel], loc: Location) -> list[str]:
    """The fields of the innermost model on the path to the error."""
    for step in loc[:-1]:
        field = cls.model_fields.get(str(step))
        inner = (
            [
                x
                for x in _flatten(field.annotation)
                if isinstance(x, type) and issubclass(x, BaseModel)
            ]
            if field
            else []
        )
        cls = inner[0] if inner else cls
    return list(cls.model_fields)


def _flatten(hint: Any) -> list[Any]:
    args = getattr(hint, "__args__", ())
    return [hint, *(inner for arg in args for inner in _flatten(arg))]
