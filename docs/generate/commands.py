"""The command line, from the commands themselves: usage, arguments, options, defaults."""

from typing import Any

from typer.main import get_command

from docs.generate.markdown import code, escaped, prose, table
from fedbench.__main__ import app
from fedbench.cli.app import Panel


def commands() -> str:
    """A section for each command of `fedbench`, under the headings of `fedbench --help`.

    In the order of the alphabet: another one would follow what was imported first.
    """
    group: Any = get_command(app)
    panels = {panel: f"## {panel}" for panel in Panel}
    for name, command in sorted(group.commands.items()):
        panels[Panel(command.rich_help_panel)] += f"\n\n{_section(name, command)}"
    return "\n\n".join(panels.values())


def _section(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"fedbench {name}")
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    about = prose(command.help or "")
    return f"### fedbench {name}\n\n```text\n{usage}\n```\n\n{about}\n\n{_parameters(command)}"


def _parameters(command: Any) -> str:
    rows = [[_written(each), _default(each), _help(each)] for each in command.params]
    return table(("", "default", "meaning"), rows) if rows else ""


def _written(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return code(parameter.name.upper())
    names = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(code(name) for name in names)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value is None or value is False or str(value) == "" else code(value)


def _help(parameter: Any) -> str:
    return escaped(parameter.help or "")
