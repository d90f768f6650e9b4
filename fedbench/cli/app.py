"""The command line itself: the options that commands share, and how an error is printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from fedbench import __version__
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import at_home
from fedbench.base.plugins import project


class _Commands(TyperGroup):
    """The commands, with `~` read as the home folder in `--results=~/x` too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [at_home(each) for each in args])


app = typer.Typer(
    cls=_Commands,
    help="Compare federated-learning methods and check the claims of their papers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class Panel(StrEnum):
    """The headings under which `fedbench --help` lists the commands."""

    papers = "Compare methods and check papers"
    runs = "Single runs, and what there is"
    results = "Results and folders"
    steps = "Steps that the workflow calls"


console = Console(markup=False, emoji=False)  # what is printed may come from a file

ResultsFolder = Annotated[
    Path, typer.Option("--results", help="Folder with the runs and the frames collected from them.")
]


def _workflow(named: Path) -> Path:
    """The default is `workflow` in the working folder, else the one that comes with fedbench."""
    return project() / "workflow" if named == Path("workflow") else named


WorkflowFolder = Annotated[
    Path,
    typer.Option("--workflow", callback=_workflow, help="Folder with papers/ and scales/."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of the data files. Default: the environment variable FEDBENCH_DATA, "
        "else the user's cache folder.",
    ),
]
Scale = Annotated[
    str,
    typer.Option(help="How far the papers are cut down: a file in scales/, without its ending."),
]
Papers = Annotated[
    str, typer.Option(help="Names of papers, separated by commas. Default: all papers.")
]
Tables = Annotated[
    str,
    typer.Option(
        help="Keys of tables and figures, separated by commas, such as table1,rmfl/fig7. "
        "Default: all."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")]
Device = Annotated[
    str,
    typer.Option(help="Where to train: 'cpu', 'cuda', 'cuda:1', or 'auto': a GPU or else the CPU."),
]
THREADS = "Threads that train clients side by side, with the same results for any number."
Workers = Annotated[
    int | None,
    typer.Option(min=1, help=f"{THREADS} Default: one per core; on a GPU one."),
]
CheckpointMinutes = Annotated[float, typer.Option(help="Minutes between two checkpoints of a run.")]
Live = Annotated[
    str,
    typer.Option(
        metavar="TRACKER",
        envvar="FEDBENCH_LIVE",
        show_envvar=False,
        help="Follow the rounds while they are trained: 'mlflow', with its database in the folder "
        "of the results, or with an address: 'mlflow=http://localhost:5000'. Default: nowhere.",
    ),
]
PlanFile = Annotated[
    Path, typer.Option("--plan", help="A plan, as `fedbench plan --json` prints it.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fedbench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """The options that stand before a command."""


@contextmanager
def sentences() -> Iterator[None]:
    """Bad input, and what the system refuses, ends in one sentence and exit code 2."""
    try:
        yield
    except FedbenchError as error:
        raise _ended(str(error)) from None
    except BrokenPipeError:  # who reads what is printed, such as `head`, has seen enough
        raise
    except OSError as error:
        place = (
            "the system refuses" if error.filename is None else f"{error.filename}: cannot be used"
        )
        raise _ended(f"{place}: {error.strerror or short(error)}") from None


def _ended(sentence: str) -> typer.Exit:
    said = Text.assemble(("error:", "red"), f" {sentence}")
    Console(stderr=True).print(said, highlight=False, soft_wrap=True)
    return typer.Exit(2)
