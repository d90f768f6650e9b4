"""What there is, from the registry: methods, models, data sets, partitions, probes, figures."""

import ast
import inspect
import io
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Any

from docs.generate.markdown import code, escaped, prose, table
from fedbench.base import registry
from fedbench.cli.catalogue import Row, catalogue

_COSTS = {
    "down_in_d": "more numbers to a client, in model sizes",
    "up_in_d": "more numbers from a client, in model sizes",
    "forward": "more forward passes for each sample",
    "teachers": "of these through teachers",
    "backward": "more backward passes for each sample",
    "client_memory_in_d": "stored by a client, in model sizes",
    "server_memory_in_d": "stored by the server, in model sizes",
}
_NEEDS = {
    "needs_classes": "data with classes",
    "proxy_data": "held-out data at the server (`validation`)",
    "needs_head": "a model with the children `body` and `head`",
    "needs_projection": "a projection head (`projection`)",
    "computes_at_server": "computation on samples at the server, which no count of passes includes",
}
_STATE = ("server", "client")  # hooks that only set up what a part remembers


def parts() -> str:
    """All parts of methods, with what they change, cost and need."""
    return "\n\n".join(_part(row) for row in catalogue("method") if _is_part(row))


def named_methods() -> str:
    """A table of the published methods, by the names that papers give them."""
    rows = [
        [f"**{escaped(row['name'])}**", escaped(row["summary"]), escaped(row["citation"])]
        for row in catalogue("method")
        if not _is_part(row)
    ]
    return table(("name", "made of", "published"), rows)


def entries(kind: str) -> str:
    """All entries of a kind, each with its docstring and its parameters."""
    return "\n\n".join(_entry(kind, row) for row in catalogue(kind))


def _is_part(row: Row) -> bool:
    return row["name"] in registry.entries("method")


def _part(row: Row) -> str:
    hooks = ", ".join(code(hook) for hook in row["hooks"] if hook not in _STATE)
    facts = [f"* Hooks: {hooks}", f"* Cost beyond FedAvg: {_cost(row['cost'])}"]
    facts += [f"* Local optimiser: {row['local_optimisers']}"] * (row["local_optimisers"] != "any")
    facts += [f"* Clients also send: {escaped(row['shares'])}"] * bool(row["shares"])
    facts += [f"* Needs {words}" for need, words in _NEEDS.items() if row[need]]
    return "\n\n".join([_entry("method", row, "###"), "\n".join(facts)])


def _cost(cost: Row) -> str:
    words = [f"{cost[name]:.3g} {words}" for name, words in _COSTS.items() if cost[name]]
    return "; ".join(words) or "none"


def _entry(kind: str, row: Row, level: str = "##") -> str:
    about = prose(registry.find(kind, row["name"]).doc)
    return "\n\n".join(filter(None, [f"{level} {row['name']}", about, _parameters(kind, row)]))


def _parameters(kind: str, row: Row) -> str:
    if not row["parameters"]:
        return ""
    said = comments(registry.find(kind, row["name"]).load())
    rows = [
        [
            code(p["name"]),
            escaped(p["allowed"]),
            code(_plain(p["default"])) if "default" in p else "required",
            escaped(said[p["name"]]),
        ]
        for p in row["parameters"]
    ]
    return table(("parameter", "allowed", "default", "note"), rows)


def _plain(value: Any) -> str:
    """A default as YAML writes it."""
    words = {None: "null", True: "true", False: "false", "": '""'}
    if isinstance(value, tuple):
        return f"[{', '.join(_plain(each) for each in value)}]"
    return words[value] if isinstance(value, bool | str | None) and value in words else f"{value}"


def comments(cls: type) -> dict[str, str]:
    """The comments at the fields of a dataclass, by field: those above it, and that behind it."""
    source = textwrap.dedent(inspect.getsource(cls))
    lines = dict(_comments(source))
    said: dict[str, str] = {}
    (node,) = ast.parse(source).body
    for field in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            first = field.lineno
            while first - 1 in lines and source.splitlines()[first - 2].strip().startswith("#"):
                first -= 1
            numbers = range(first, (field.end_lineno or field.lineno) + 1)
            said[field.target.id] = " ".join(lines[n] for n in numbers if n in lines)
    return said


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
