"""Settings and fields of YAML files, from the models that check them."""

from collections.abc import Iterator
from typing import Any

import yaml

from docs.generate.markdown import code, escaped, prose, table
from docs.schemas import Described
from fedbench.base.checks import Strict
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Scale
from fedbench.spec import RunSpec

Schema = dict[str, Any]

_HEADER = ("field", "allowed", "default", "meaning")
_TYPES = {
    "string": "text", "boolean": "true or false", "null": "null",
    "integer": "a whole number", "number": "a number", "object": "a mapping", "array": "a list",
}  # fmt: skip
_LIMITS = {
    "minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<",
}  # fmt: skip
_CHOICE = "a name or `{name: {parameter: value}}`"


def settings() -> str:
    """All settings of a run, then those of `augment` and `tune`."""
    return _page(RunSpec)


def paper() -> str:
    """All fields of a paper's file, then those of what it lists: grids, tables, claims."""
    return _page(Paper)


def scale() -> str:
    """All fields of a scale's file."""
    return _page(Scale)


def _page(model: type[Strict]) -> str:
    schema = model.model_json_schema(schema_generator=Described)
    parts = schema.pop("$defs")
    names = [name for name in _in_order(schema, parts) if name != "Choice"]
    return "\n\n".join([_fields(schema), *(_section(name, parts[name]) for name in names)])


def _section(name: str, schema: Schema) -> str:
    return f"## {name}\n\n{prose(schema.get('description', ''))}\n\n{_fields(schema)}"


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        [code(name), allowed(field), _default(name, field, required), _meaning(field)]
        for name, field in schema["properties"].items()
    ]
    return table(_HEADER, rows)


def _meaning(field: Schema) -> str:
    return escaped(field.get("description", ""))


def _default(name: str, field: Schema, required: tuple[str, ...]) -> str:
    if name in required:
        return "required"
    if "default" not in field:
        return "empty"
    written = yaml.safe_dump(field["default"], default_flow_style=True, allow_unicode=True)
    return code(written.removesuffix("...\n").strip())


def allowed(field: Schema) -> str:
    """What a field may hold, in words: '≥ 0' and other limits included."""
    if "$ref" in field:
        return _named(field["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(map(allowed, field[several])))
    if "const" in field or "enum" in field:
        return " or ".join(code(value) for value in field.get("enum", [field.get("const")]))
    return _simple(field)


def _named(name: str) -> str:
    return _CHOICE if name == "Choice" else f"[{name}](#{name.lower()})"


def _simple(field: Schema) -> str:
    words = _TYPES.get(field.get("type", ""), "any value")
    limits = [f"{sign} {field[limit]:,}" for limit, sign in _LIMITS.items() if limit in field]
    if "items" in field:
        words += f": each {allowed(field['items'])}"
    if "prefixItems" in field:
        words += f" of {len(field['prefixItems'])}: each {allowed(field['prefixItems'][0])}"
    if isinstance(field.get("additionalProperties"), dict) and field["additionalProperties"]:
        words += f" of names to {allowed(field['additionalProperties'])}"
    return " ".join([words, ", ".join(limits)]).strip()


def _in_order(schema: Schema, parts: dict[str, Schema]) -> list[str]:
    """The names of the parts that a schema refers to, in the order in which a reader meets them."""
    met: dict[str, None] = {}
    todo = list(_references(schema))
    while todo:
        name = todo.pop(0)
        if name not in met:
            met[name] = None
            todo += _references(parts[name])
    return list(met)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)
