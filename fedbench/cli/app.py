"""The command line itself: its options, and how an error is printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import project

app = typer.Typer(
    help="Compare federated-learning methods and check their papers' claims.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console(markup=False, emoji=False)  # what is printed may come from a file

Results = Annotated[Path, typer.Option(help="Folder of run folders and collected frames.")]


def _workflow(named: Path) -> Path:
    """The default is the working folder's, if it has one, else the one that comes with fedbench."""
    return project() / "workflow" if named == Path("workflow") else named


Workflow = Annotated[
    Path, typer.Option(callback=_workflow, help="Folder with papers/ and scales/.")
]
Data = Annotated[Path | None, typer.Option(help="Folder with data files (default: FEDBENCH_DATA).")]
Scale = Annotated[str, typer.Option(help="A file in workflow/scales, without its ending.")]
Names = Annotated[str, typer.Option(help="Names separated by commas; all by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Device = Annotated[str, typer.Option(help="'auto', 'cpu', 'cuda' or 'cuda:1'.")]
Mode = Annotated[str, typer.Option(help="'loop' over clients, 'map' (vmap), or 'auto'.")]
PlanFile = Annotated[Path, typer.Option(help="What `fedbench plan --json` wrote.")]


@contextmanager
def sentences() -> Iterator[None]:
    """Bad input ends in one sentence and exit code 2."""
    try:
        yield
    except FedbenchError as error:
        said = Text.assemble(("error:", "red"), f" {error}")
        Console(stderr=True).print(said, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
