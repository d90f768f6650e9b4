"""Reads settings, in YAML files and on a command line, by the core schema of YAML 1.2.

By PyYAML's own rules, which are those of YAML 1.1, NO is false, 1:10 is 70 and 010 is 8.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.resolver import BaseResolver

from fedbench.base.checks import M
from fedbench.base.errors import FedbenchError, at, mapping_of, shown
from fedbench.base.files import read_text

LARGEST = 500_000  # characters of a file; the largest that comes with fedbench has 60,000
MOST = 50_000  # values in a file
DEEPEST = 40  # lists and mappings inside each other
_INT64 = 2**63
_TAG = "tag:yaml.org,2002:"
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_TOO_DEEP = f"lists and mappings lie more than {DEEPEST} deep"


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a file; raises `FedbenchError` if it is missing, not YAML or no mapping."""
    return mapping_of(_value(read_text(path), str(path)), path)


def read_value(text: str) -> Any:
    """The value that a YAML file would read from the text; raises `FedbenchError` if none."""
    return _value(text, f"'{shown(text)}'")


def load(path: Path, kind: type[M]) -> M:
    """A YAML file as a model of that kind; the text of every error begins with the file."""
    return loaded(read_text(path), path, kind)


def loaded(text: str, path: Path, kind: type[M]) -> M:
    """The text of a YAML file, as by `load`."""
    content = mapping_of(_value(text, str(path)), path)
    with at(str(path)):
        return kind(**{str(key): each for key, each in content.items()})


def written(content: dict[str, Any]) -> str:
    """The mapping as the text of a YAML file, which `read_yaml` reads as the same again."""
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse(pairs: Iterable[str]) -> dict[str, Any]:
    """`['alpha=0.1']` as a mapping; `FedbenchError` on a pair without '=', or a key again."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        before, sign, text = pair.partition("=")
        key = before.strip()
        if not (key and sign):
            raise FedbenchError(f"'{pair}': a setting is written key=value")
        if key in settings:
            raise FedbenchError(f"'{pair}': '{key}' is given twice")
        settings[key] = read_value(text)
    return settings


def split(names: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


# The core schema of YAML 1.2 (section 10.3.2): how values without quotes and tag are read
_CORE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda _: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (
        r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
        lambda text: int(text, {"0x": 16, "0o": 8}.get(text[:2], 10)) if len(text) < 99 else _INT64,
    ),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    ),
}


class _Reader(Composer, CParser, BaseResolver):
    """Parses a text into nodes by the core schema, and reads the plain values that they hold."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._values = 0

    def read(self, node: yaml.Node, *inside: yaml.Node) -> Any:
        """The node's value; `inside`: the lists and mappings that it lies in."""
        self._values += 1  # what an alias stands for counts at each use
        if self._values > MOST:
            raise _at(node, f"more than {MOST:,} values, aliases followed")
        if node in inside:
            raise _at(node, "an alias stands inside what it names")
        if len(inside) >= DEEPEST:
            raise _at(node, _TOO_DEEP)
        kind = node.tag.removeprefix(_TAG)
        match node:
            case yaml.ScalarNode() if kind == "str" or kind in _CORE:
                return _scalar(kind, node)
            case yaml.SequenceNode() if kind == "seq":
                return [self.read(each, *inside, node) for each in node.value]
            case yaml.MappingNode() if kind == "map":
                return self._mapping(node, *inside)
        words = "null, true or false, a number, text, a list or a mapping"
        raise _at(node, f"{kind} {_text(node)}: a value is {words}")

    def _mapping(self, node: yaml.MappingNode, *inside: yaml.Node) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value in node.value:
            key = self.read(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if isinstance(key, bool | None) or key != key:
                raise _at(key_node, f"{_text(key_node)} as a key; put it in quotes")
            if key in found:
                raise _at(key_node, f"'{key}' is given twice")
            found[key] = self.read(value, *inside, node)
        return found


class _Dumper(yaml.SafeDumper):
    """SafeDumper that puts text in quotes which YAML 1.1 or 1.2 would read as something else."""


for _kind, (_pattern, _) in _CORE.items():
    for _class in (_Reader, _Dumper):
        _class.add_implicit_resolver(_TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), None)

_PLAINER = {
    "mapping values are not allowed in this context": "a second ':', or a line that is indented "
    "further than the field above it",
    "found a tab character that violates indentation": "a tab; lines are indented with spaces",
    "did not find expected key": "a line that is not indented as its neighbours are",
    "did not find expected '-' indicator": "a field among the items of a list",
    "found unexpected end of stream": "a quote that is not closed",
    "found character that cannot start any token": "a tab, or a value that begins with a sign of "
    "YAML; indent lines with spaces, and put such a value in quotes",
    "did not find expected ',' or ']'": "a list without its ',' or ']'",
    "did not find expected ',' or '}'": "a mapping without its ',' or '}'",
}


def _value(text: str, place: str) -> Any:
    """The value in the text; raises `FedbenchError` with the place, the line and what is wrong."""
    try:
        if len(text) > LARGEST:
            raise yaml.YAMLError(f"{len(text):,} letters; at most {LARGEST:,} are read")
        if _HALF.search(text):  # as a command line spells bytes that are no UTF-8
            raise yaml.YAMLError("a letter of it is no UTF-8 text")
        reader = _Reader(text)
        node = reader.get_single_node()
        return None if node is None else reader.read(node)
    except RecursionError:
        raise FedbenchError(f"{place}: not valid YAML: {_TOO_DEEP}") from None
    except yaml.MarkedYAMLError as error:
        line = getattr(error.problem_mark, "line", 0) + 1
        told = _PLAINER.get(str(error.problem), error.problem)
        raise FedbenchError(f"{place}: not valid YAML: line {line}: {told}") from None
    except yaml.YAMLError as error:
        raise FedbenchError(f"{place}: not valid YAML: {error}") from None


def _scalar(kind: str, node: yaml.ScalarNode) -> Any:
    if kind == "str":
        if _CONTROL.search(node.value):
            raise _at(node, f"{_text(node)} has a control character or half a letter")
        return node.value
    pattern, meant = _CORE[kind]
    if not re.fullmatch(pattern, node.value):
        raise _at(node, f"{_text(node)} is no {kind}")
    value = meant(node.value)
    if kind == "int" and not -_INT64 <= value < _INT64:
        raise _at(node, f"{_text(node)} is beyond 64 bits")
    return value


def _text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"
    return repr(node.value if len(node.value) < 40 else node.value[:40] + "…")


def _at(node: Any, words: str) -> yaml.YAMLError:
    return yaml.YAMLError(f"line {node.start_mark.line + 1}: {words}")
