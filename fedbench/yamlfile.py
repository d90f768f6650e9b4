"""Safe YAML with errors that name the file."""

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fedbench.errors import FedbenchError
from fedbench.strict import Strict

M = TypeVar("M", bound=Strict)


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping; raises `FedbenchError` if the file is missing, not YAML, or no mapping."""
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  # a SafeLoader
    except OSError as error:
        raise FedbenchError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FedbenchError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise FedbenchError(f"{path}: must be a mapping of fields, not {type(found).__name__}")
    return found


def read_value(text: str) -> Any:
    """A value as a YAML file would spell it; raises `FedbenchError` if it is not YAML."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader
    except yaml.YAMLError as error:
        raise FedbenchError(f"'{text}': not valid YAML: {' '.join(str(error).split())}") from None


def load(path: Path, kind: type[M]) -> M:
    """The file as a checked model; every error begins with the file's name."""
    try:
        return kind(**{str(k): v for k, v in read_yaml(path).items()})
    except FedbenchError as error:
        text = str(error)
        raise FedbenchError(text if text.startswith(str(path)) else f"{path}: {text}") from None


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice and reads 1e-4 as a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without repeated keys."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.YAMLError(f"line {key_node.start_mark.line + 1}: '{key}' is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)
