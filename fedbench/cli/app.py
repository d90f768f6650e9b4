"""The command line itself: the headings of its commands, what they print, and how an error ends."""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text
from typer.core import TyperGroup

from fedbench import __version__
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import at_home


class Panel(StrEnum):
    """The headings under which `fedbench --help` lists the commands."""

    papers = "Compare methods and check papers"
    runs = "Single runs, and what there is"
    results = "Results and folders"
    steps = "Steps that the workflow calls"


_usual = warnings.formatwarning


def _in_one_line(message: Warning | str, category: type[Warning], *more: Any, **also: Any) -> str:
    """A warning to users as a sentence, without the place in the code that gave it."""
    return f"{message}\n" if category is UserWarning else _usual(message, category, *more, **also)


class _Commands(TyperGroup):
    """The commands by headings; each imports what it needs when called, for a quick `--help`."""

    def list_commands(self, ctx: Any) -> list[str]:
        panels, commands = [*Panel], dict[str, Any](self.commands)
        return sorted(commands, key=lambda x: (panels.index(commands[x].rich_help_panel), x))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # paragraphs are as wide as the terminal, not as our source
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            paragraphs = command.help.split("\n\n")
            command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # the shell leaves the ~ of `--results=~/x` as it is
        return super().parse_args(ctx, [at_home(each) for each in args])

    def invoke(self, ctx: Any) -> Any:
        warnings.formatwarning = _in_one_line
        with sentences():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    help="Compare federated-learning methods and check the claims of their papers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

console = Console(markup=False, emoji=False)  # what is printed may come from a file


def print_line(sentence: str) -> None:
    """Print a sentence as one line, however long: only the terminal breaks it."""
    console.print(sentence, soft_wrap=True)


def print_json(facts: object, indent: int | None = None) -> None:
    """Print JSON at once, as a program may wait for it."""
    print(json.dumps(facts, indent=indent), flush=True)


def table_of(rows: Iterable[Mapping[str, str]]) -> Table:
    """Rows of the same keys, which stand above the columns, as a table for the terminal."""
    listed = list(rows)
    table = Table(*(Column(x, overflow="fold") for x in (listed[0] if listed else ["nothing"])))
    for row in listed:
        table.add_row(*row.values())
    return table


@app.callback(invoke_without_command=True)
def _before_a_command(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """The options that stand before a command."""
    if version:
        print(f"fedbench {__version__}")
        raise typer.Exit


@contextmanager
def sentences() -> Iterator[None]:
    """Bad input, and what the system refuses, ends in one sentence and exit code 2."""
    try:
        yield
        return
    except FedbenchError as error:
        sentence = str(error)
    except BrokenPipeError:  # who reads what is printed, such as `head`, has seen enough
        raise
    except OSError as error:
        place = f"{error.filename}: cannot be used" if error.filename else "the system refuses"
        sentence = f"{place}: {error.strerror or short(error)}"
    line = Text.assemble(("error:", "red"), f" {sentence}")
    Console(stderr=True).print(line, highlight=False, soft_wrap=True)
    raise typer.Exit(2) from None
