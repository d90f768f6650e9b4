"""A notebook as a page: its text, its code, and what the code prints and draws when it is run."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import matplotlib as mpl
from matplotlib import pyplot as plt

NOTEBOOK = Path(__file__).parents[1] / "notebook.py"

_MARK = "# %%"


def cells(text: str) -> Iterator[tuple[str, str]]:
    """The cells of a file in Jupytext's percent format, as ('markdown' or 'code', content)."""
    for piece in text.split(_MARK)[1:]:
        head, _, body = piece.partition("\n")
        if "[markdown]" in head:
            lines = (line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            yield "markdown", "\n".join(lines)
        else:
            yield "code", body.strip()


def page(folder: Path, text: str = "") -> str:
    """Run the notebook and write what it shows; its pictures go to `folder`.

    It runs in an empty folder: what it trains and compares is not kept.
    """
    mpl.use("Agg")
    plt.close("all")  # a picture that was open before is none of the notebook's
    names: dict[str, Any] = {}
    pieces: list[str] = []
    folder = folder.absolute()
    told = cells(text or NOTEBOOK.read_text(encoding="utf-8"))
    # the folder of plug-ins that a comparison adds to the environment goes with the empty folder
    with TemporaryDirectory() as place, contextlib.chdir(place), patch.dict(os.environ):
        for kind, body in told:
            pieces += [body] if kind == "markdown" else _shown(body, names, folder)
    return "\n\n".join(pieces)


def _shown(body: str, names: dict[str, Any], folder: Path) -> list[str]:
    """A cell of code, what it printed, and the picture that it drew."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, NOTEBOOK.name, "exec"), names)  # noqa: S102  # our own notebook
    shown = [f"```python\n{body}\n```"]
    if printed.getvalue():
        shown.append(f'```text title="prints"\n{printed.getvalue().rstrip()}\n```')
    return shown + _pictures(folder)


def _pictures(folder: Path) -> list[str]:
    links = []
    for number in plt.get_fignums():
        file = folder / f"notebook-{number}.svg"
        plt.figure(number).savefig(file, bbox_inches="tight")
        links.append(f"![Figure {number} of the notebook]({file.name})")
    plt.close("all")
    return links
