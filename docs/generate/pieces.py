"""Which piece of the site is made by which function: pages name them as {{ piece }}."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from docs.generate import commands, entries, findings, metrics, notebook, schemas
from docs.generate.markdown import code, escaped, table
from fedbench.base import checks, registry

ROOT = Path(__file__).parents[2]

_PLACE = re.compile(r"^\{\{ (.+) \}\}$", re.MULTILINE)


def filled(page: str, pieces: dict[str, Callable[[], str]]) -> str:
    """The page with each {{ piece }} replaced; raises `KeyError` on one that nobody makes."""
    return _PLACE.sub(lambda place: pieces[place[1]](), page)


def places(page: str) -> list[str]:
    """The pieces that a page names."""
    return _PLACE.findall(page)


def pieces(folder: Path) -> dict[str, Callable[[], str]]:
    """All pieces by name; pictures that belong to them are written to `folder`."""
    return {
        "settings": schemas.settings,
        "paper": schemas.paper,
        "scale": schemas.scale,
        "ranges": ranges,
        "scores": metrics.scores,
        "engine": metrics.engine,
        "probe columns": metrics.probes,
        "commands": commands.commands,
        "named methods": entries.named_methods,
        "parts": entries.parts,
        **{
            f"entries {kind}": partial(entries.entries, kind)
            for kind in registry.KINDS
            if kind != "method"
        },
        "findings": findings.findings,
        "notebook": partial(notebook.page, folder),
    }


def ranges() -> str:
    """The types of `fedbench.base.checks` for parameters, each with what it allows."""
    types: dict[str, Any] = {
        name: value
        for name, value in vars(checks).items()
        if get_origin(value) is Annotated and get_args(value)[0] in (int, float)
    }
    return table(
        ("type", "allowed"),
        [[code(name), escaped(checks.allowed(value))] for name, value in types.items()],
    )
