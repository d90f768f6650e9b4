"""Which piece of the site is made by which function: pages name them as {{ piece }}."""

import re
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from docs.generate import commands, entries, findings, metrics, notebook, schemas
from docs.generate.markdown import code, escaped, table
from fedbench.base import checks, registry
from fedbench.paper import claims

ROOT = Path(__file__).parents[2]

_PLACE = re.compile(r"^\{\{ (.+) \}\}$", re.MULTILINE)
_EXAMPLE = ("methods/shrink.py", "papers/mine.yaml")


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
        "claims": _claims,
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
        **{f"example {name}": partial(_example, name) for name in _EXAMPLE},
        "picture": _picture,
        "while it runs": partial(_section, "While it runs, and when it stops"),
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


def _readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def _picture() -> str:
    """The README's picture of the way from YAML to page."""
    return "```text" + _readme().partition("```text")[2].partition("```")[0] + "```"


def _section(title: str) -> str:
    """A section of the README, without its title."""
    return _readme().partition(f"## {title}\n")[2].partition("\n## ")[0].strip()


def _claims() -> str:
    """The rules for authors of claims, which stand at the top of that module."""
    return (claims.__doc__ or "").partition("\n\n")[2].strip()


def _example(name: str) -> str:
    """A file of the folder that `fedbench init` writes."""
    text = resources.files("fedbench.cli").joinpath("example", name).read_text(encoding="utf-8")
    language = {".py": "python", ".yaml": "yaml"}[Path(name).suffix]
    return f'```{language} title="{name}"\n{text.strip()}\n```'
