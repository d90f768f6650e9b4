"""The commands around the workflow: where it is, a locked folder, a folder for your methods."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, write_text
from fedbench.base.plugins import project
from fedbench.cli.app import Panel, app, console, sentences

_EXAMPLE = Path(str(resources.files("fedbench.cli"))) / "example"
_FILES = ("README.md", "methods/shrink.py", "papers/mine.yaml")


@app.command(rich_help_panel=Panel.results)
def workflow() -> None:
    """Print the path of the Snakefile: snakemake -s "$(fedbench workflow)" --cores all."""
    print((project() / "Snakefile").resolve())


@app.command(rich_help_panel=Panel.results)
def unlock(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Where the workflow was started. Default: the working folder.", show_default=False
        ),
    ] = Path(),
) -> None:
    """Free the folder of a workflow that was killed; refused while one still runs there."""
    with sentences():
        from fedbench.jobs.lifecycle import unlock as free

        locked = free(folder)
    console.print("the folder is free" if locked else "the folder was not locked")


@app.command(rich_help_panel=Panel.results)
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to write to; made if it is missing.")],
) -> None:
    """Write a folder with a method, a paper that uses it and a README, to run and to change."""
    with sentences():
        for name in _FILES:
            if exists(folder / name):
                raise FedbenchError(f"{folder / name}: is there already, and is not overwritten")
        for name in _FILES:
            write_text(folder / name, (_EXAMPLE / name).read_text(encoding="utf-8"))
    console.print(f"{len(_FILES)} files; read {folder / _FILES[0]}", soft_wrap=True)
