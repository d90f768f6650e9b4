"""Lists of parts in which a published method stands by its name, such as `parts: [MOON, asd]`.

A name that `fedbench list methods` shows may stand where a part may. It is replaced by the parts of
that method, and the settings that the method needs are added to those beside the list.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError, of_file, quoted
from fedbench.base.yamlfile import read_yaml
from fedbench.paper.compositions import Composition, compositions
from fedbench.spec import Choice, RunSpec


def load_run(path: Path) -> RunSpec:
    """The run that a YAML file describes; raises `FedbenchError` beginning with a file's name."""
    settings = {str(key): value for key, value in read_yaml(path).items()}
    with of_file(path):  # a mistake in compositions.yaml names that file
        return RunSpec(**spelled_out(settings))


def spelled_out(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with each named method replaced by its parts.

    A setting that such a method needs is added, unless `settings` set it themselves.
    Raises `FedbenchError` if `parts` is no list, or on a name that is neither part nor method.
    """
    if "parts" not in settings:
        return dict(settings)
    listed = settings["parts"]
    if not isinstance(listed, list | tuple):
        wanted = f"; write parts: [{listed}]" if isinstance(listed, str) else ""
        raise FedbenchError(f"parts = {quoted(listed)} is not allowed: it must be a list{wanted}")
    parts: list[Any] = []
    needed: dict[str, Any] = {}
    for each in listed:
        choice = checked(Choice, each)
        part_or_method = _find(choice)
        if isinstance(part_or_method, Composition):
            parts += part_or_method.parts
            needed |= part_or_method.settings
        else:  # a part stays as it is written: plans repeat it
            parts.append(each if part_or_method == choice.name else {part_or_method: choice.params})
    return {**needed, **settings, "parts": parts}


def _find(choice: Choice) -> str | Composition:
    """The part or method of that name; case counts only where two names differ in nothing else."""
    parts, methods = registry.entries("method"), compositions()
    name = choice.name
    if name in parts:
        return name
    alike = [other for other in methods if other.lower() == name.lower()]
    if name in methods or len(alike) == 1:
        method = name if name in methods else alike[0]
        _refuse_parameters(choice, methods[method])
        return methods[method]
    if name.lower() in parts and not alike:
        return name.lower()
    raise registry.no_entry("method", name, [*parts, *methods])


def _refuse_parameters(choice: Choice, method: Composition) -> None:
    """Parameters belong to one part; a method may have several, or none."""
    if choice.params:
        parts = " and ".join(part.name for part in method.parts) or "none"
        raise FedbenchError(
            f"parts: {choice.name} = {quoted(choice.params)} is not allowed: a method given by "
            f"name takes no parameters; set them on its parts ({parts})"
        )
