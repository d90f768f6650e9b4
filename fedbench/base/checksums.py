"""Checksums: of plain values, of a plug-in with what it imports beside it, of fedbench itself."""

import ast
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import PluginFolder


def digest(value: Any) -> str:
    """12 digits of the sha256 of a value as JSON; `FedbenchError` if it lies hundreds deep."""
    try:
        text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise FedbenchError("lists or mappings are nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def canonical(value: Any) -> Any:
    """The value as JSON spells it in one way: 1.0 is 1, a tuple is a list, keys are text."""
    match value:
        case str() | int() | None:
            return value
        case dict():
            return {str(k): canonical(v) for k, v in value.items()}
        case list() | tuple():
            return [canonical(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def checksums(file: Path, folder: PluginFolder) -> dict[str, str]:
    """The sha256 of a plug-in's file and of those it imports from its folder, by path there."""
    sha256: dict[str, str] = {}
    waiting = [file]
    while waiting:
        each = waiting.pop(0)
        name = each.relative_to(folder.root).as_posix()
        if name not in sha256:
            content = each.read_bytes()
            sha256[name] = hashlib.sha256(content).hexdigest()
            waiting += sorted(set(_imported(parsed(each, content), each, folder)))
    return sha256


def version_of(package: Path) -> str:
    """12 digits that change with any file of a package; what other code made is made anew."""
    total = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            name = file.relative_to(package).as_posix()
            total.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:12]


def parsed(file: Path, content: bytes) -> ast.Module:
    """A file's syntax tree; raises `FedbenchError` naming file and line if it is not Python."""
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise FedbenchError(f"{file}{line}: not Python: {error}") from None


def _imported(tree: ast.Module, file: Path, folder: PluginFolder) -> Iterator[Path]:
    """The files of the folder that a file of it imports, here or inside a function."""
    for node in ast.walk(tree):
        top, inside, modules = folder.root, f"{folder.package}.", list[str]()
        match node:
            case ast.Import():
                modules = [alias.name for alias in node.names]
            case ast.ImportFrom():
                start = node.module or ""
                modules = [start, *(f"{start}.{alias.name}" for alias in node.names)]
                if node.level:
                    top, inside = file.parents[min(node.level, len(file.parents)) - 1], ""
        for module in (x[len(inside) :] for x in modules if f"{x}.".startswith(inside)):
            place = top.joinpath(*filter(None, module.split(".")))
            for found in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if found.is_file() and found.is_relative_to(folder.root):
                    yield found
