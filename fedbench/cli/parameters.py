"""The parameters of an entry as its file writes them, read without importing it."""

import ast
import typing
from typing import Any

from fedbench.base import checks, registry
from fedbench.base.checks import allowed
from fedbench.base.checksums import parsed


def written(entry: registry.Entry) -> list[dict[str, Any]] | None:
    """Name, default and range of each; None if the class must be imported to know them.

    That is so for plug-ins, for a default that is computed, and for a parameter without one.
    """
    if entry.sha256:
        return None
    node, names = _class_and_names(entry)
    rows = []
    for item in node.body:
        if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
            continue
        name = item.target.id
        if name not in entry.fields:
            continue
        if entry.fields[name] is None and name not in entry.nulls:
            return None
        try:
            hint = eval(ast.unparse(item.annotation), names)  # noqa: S307  # fedbench's own files
        except NameError:
            return None
        rows.append({"name": name, "default": entry.fields[name], "allowed": allowed(hint)})
    return rows


def _class_and_names(entry: registry.Entry) -> tuple[ast.ClassDef, dict[str, Any]]:
    """The class, and what its annotations may name: ranges, and names that the file gives some."""
    names = vars(typing) | vars(checks)
    for node in parsed(entry.file, entry.file.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            words = ast.unparse(node.value)
            if words.startswith(("Annotated[", "Literal[")):
                names[node.targets[0].id] = eval(words, names)  # noqa: S307
        if isinstance(node, ast.ClassDef) and node.name == entry.attribute:
            return node, names
    raise AssertionError(f"{entry.file} has no class {entry.attribute}")
