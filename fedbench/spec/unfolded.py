"""Refuses named methods (`compositions.yaml`) in a `RunSpec`, which takes parts alone.

Files and command lines have the names replaced before a `RunSpec` is made (`paper/named`).
"""

from collections.abc import Iterator
from typing import Any

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, shown
from fedbench.base.plugins import composition_files
from fedbench.base.yamlfile import read_yaml


def refuse_named(name: str) -> None:
    """Raise `FedbenchError` with what to write instead if this is no part but a named method."""
    if name in registry.entries("method"):
        return
    for method, fields in _methods():
        if method.lower() == name.lower():
            needed = {"parts": fields.get("parts"), **(fields.get("with") or {})}
            wanted = ", ".join(f"{key}={shown(value)}" for key, value in needed.items())
            raise FedbenchError(
                f"parts: '{name}' is a named method, which stands for its parts in files and on "
                f"command lines alone; in Python write {wanted}"
            )


def _methods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The named methods as they are written; what is no mapping is left out."""
    for file in composition_files():
        for name, fields in read_yaml(file).items():
            if isinstance(fields, dict):
                yield str(name), fields
