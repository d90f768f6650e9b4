"""Finds methods, models, data, partitions and samplers by name: drop in a file, no more.

Every public `@dataclass` in a package is an entry; its name is the class name in lower case.
Files are read as syntax, not imported, so that listing and planning need neither torch nor its
two seconds of start-up.
"""

import ast
import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError, unknown

PACKAGES = {
    "method": "methods",
    "model": "models",
    "dataset": "data.sources",
    "partition": "data.partitions",
    "sampler": "sampling",
    "probe": "probes",
    "figure": "report.kinds",
    "facts": "report.facts",
}


@dataclass(frozen=True)
class Entry:
    """Where a name lives, its parameters and its literal class constants, without an import."""

    name: str
    module: str
    attribute: str
    fields: dict[str, Any]  # defaults by name, where they are literals
    doc: str
    constants: dict[str, Any]
    nulls: frozenset[str] = frozenset()  # the fields whose default is written as None

    def load(self) -> type:
        """The class itself (imports its module)."""
        cls: type = getattr(importlib.import_module(self.module), self.attribute)
        return cls


def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind ('method', 'model', 'dataset', 'partition', 'sampler'), by name."""
    return _scan(PACKAGES[kind])


def find(kind: str, name: str) -> Entry:
    """The entry of that name; raises `FedbenchError` with the nearest name otherwise."""
    known = entries(kind)
    if name not in known:
        raise unknown(kind, name, known)
    return known[name]


def check(kind: str, name: str, params: dict[str, Any]) -> None:
    """Refuse an unknown name or parameter, without importing anything."""
    entry = find(kind, name)
    for key in params:
        if key not in entry.fields:
            raise FedbenchError(f"{kind} '{name}': {unknown('parameter', key, entry.fields)}")


def build(kind: str, name: str, params: dict[str, Any]) -> Any:
    """The entry with its parameters; ranges are checked by the class itself."""
    check(kind, name, params)
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()}
    return find(kind, name).load()(**plain)


@cache
def _scan(package: str) -> dict[str, Entry]:
    root = Path(__file__).parents[1].joinpath(*package.split("."))
    found = (entry for file in sorted(root.glob("*.py")) for entry in _read(file, package))
    return {entry.name: entry for entry in found}


def _read(file: Path, package: str) -> list[Entry]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    module = f"fedbench.{package}.{file.stem}"
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and _is_entry(node)]
    return [
        Entry(
            *(c.name.lower(), module, c.name, _fields(c), ast.get_docstring(c) or ""),
            *(_constants(c), _nulls(c)),
        )
        for c in classes
    ]


def _is_entry(node: ast.ClassDef) -> bool:
    decorated = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    bases = [ast.unparse(base) for base in node.bases]
    return decorated and not node.name.startswith("_") and bool(bases) and "ABC" not in bases


def _fields(node: ast.ClassDef) -> dict[str, Any]:
    return {
        item.target.id: _literal(item.value)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and "ClassVar" not in ast.unparse(item.annotation)
    }


def _nulls(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and isinstance(item.value, ast.Constant)
        and item.value.value is None
    )


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _constants(node: ast.ClassDef) -> dict[str, Any]:
    return {
        item.target.id: _literal(item.value)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and "ClassVar" in ast.unparse(item.annotation)
    }
