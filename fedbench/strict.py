"""Pydantic models that refuse in one sentence: the field, the bad value, what is allowed."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from fedbench.errors import FedbenchError, unknown


class Strict(BaseModel):
    """A frozen model without unknown fields; raises `FedbenchError` instead of a listing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise FedbenchError(sentence(error, type(self))) from None


def sentence(error: ValidationError, cls: type[BaseModel]) -> str:
    """The first thing wrong, in words."""
    wrong = error.errors()
    typos = [e for e in wrong if e["type"] == "extra_forbidden"]  # they explain what is missing
    first = (typos or wrong)[0]
    place = ".".join(str(x) for x in first["loc"])
    if first["type"] == "extra_forbidden":
        return str(
            unknown(
                f"field in {_owner(cls, first['loc'])}", first["loc"][-1], _known(cls, first["loc"])
            )
        )
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"].startswith("union_tag"):
        return f"{place}: {_tag(first['ctx'])}"
    message = str(first["ctx"]["error"]) if first["type"] == "value_error" else _lower(first["msg"])
    if first["type"] == "value_error":
        return f"{place}: {message}" if place else message
    return f"{place} = {first['input']!r} is not allowed: {message}"


def _tag(context: dict[str, Any]) -> str:
    """What is wrong with the field that says which of several models is meant."""
    field = context["discriminator"].strip("'")
    if "tag" not in context:
        return f"{field} is missing"
    return str(unknown(field, context["tag"], context["expected_tags"].strip("'").split("', '")))


def _lower(message: str) -> str:
    return message[0].lower() + message[1:]


def _owner(cls: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    inside = ".".join(str(x) for x in loc[:-1])
    return inside or cls.__name__


def _known(cls: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Fields of the innermost model that the path leads to."""
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
    return [hint, *(found for arg in args for found in _flatten(arg))]
