"""Reads settings: YAML files of plain values, and values and lists on a command line."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.resolver import BaseResolver

from fedbench.base.errors import FedbenchError, shown
from fedbench.base.files import read_text
from fedbench.base.strict import Strict

M = TypeVar("M", bound=Strict)

LARGEST = 500_000  # characters of a file; the largest that comes with fedbench has 60,000
MOST = 50_000  # values in a file; what an alias stands for counts at each use
DEEPEST = 40  # lists and mappings inside each other
_WORDS = "null, true or false, a number, text, a list or a mapping"
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")}
_NESTED = {f"tag:yaml.org,2002:{name}" for name in ("seq", "map")}
_INT64 = 2**63
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a file; raises `FedbenchError` if it is missing, not YAML or no mapping."""
    try:
        content = _value(read_text(path))
    except yaml.YAMLError as error:
        raise FedbenchError(f"{path}: not valid YAML: {_said(error)}") from None
    if not isinstance(content, dict):
        raise FedbenchError(f"{path}: must be a mapping of fields, not {type(content).__name__}")
    return content


def read_value(text: str) -> Any:
    """The value that a YAML file would read from the text; raises `FedbenchError` if none."""
    try:
        return _value(text)
    except yaml.YAMLError as error:
        raise FedbenchError(f"'{shown(text)}': not valid YAML: {_said(error)}") from None


def load(path: Path, kind: type[M]) -> M:
    """A YAML file as a model of that kind; the text of every error begins with the file."""
    try:
        return kind(**{str(k): v for k, v in read_yaml(path).items()})
    except FedbenchError as error:
        text = str(error)
        raise FedbenchError(text if text.startswith(str(path)) else f"{path}: {text}") from None


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


def _said(error: yaml.YAMLError) -> str:
    """What is wrong and in which line, for readers who do not know the parser's words."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return str(error)
    return str(_at(mark, _PLAINER.get(problem, problem)))


def _value(text: str) -> Any:
    if len(text) > LARGEST:
        raise yaml.YAMLError(f"{len(text):,} letters; at most {LARGEST:,} are read")
    if _HALF.search(text):  # as a command line spells bytes that are no UTF-8
        raise yaml.YAMLError("a letter of it is no UTF-8 text")
    value: Any = yaml.load(text, Loader=_Loader)  # type: ignore[arg-type]  # noqa: S506
    return value


class _Extent(NamedTuple):
    """Values below a node, itself included, and how deep they lie, aliases followed."""

    values: int
    depth: int


class _Loader(Composer, CParser, SafeConstructor, BaseResolver):
    """SafeLoader of plain values by YAML 1.2, which refuses a key given twice.

    PyYAML's own rules are those of YAML 1.1, in which NO is false, 1:10 is 70 and 010 is 8.
    What an alias stands for counts wherever the alias is used, so that a small file cannot spell a
    huge value, and no value can contain itself. The text is parsed in C, several times as fast.
    """

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        BaseResolver.__init__(self)
        self._open = 0
        self._extents: dict[int, _Extent] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> Any:
        """The next node, measured as soon as it is complete."""
        event: Any = self.peek_event()
        self._open += 1
        if self._open > DEEPEST:
            raise self._deep(event.start_mark)
        node: Any = super().compose_node(parent, index)
        self._open -= 1
        if not isinstance(event, yaml.AliasEvent):
            self._extents[id(node)] = self._measured(node)
        elif id(node) not in self._extents:
            raise _at(event.start_mark, "an alias stands inside what it names")
        return node

    def _measured(self, node: yaml.Node) -> _Extent:
        inside = [] if isinstance(node, yaml.ScalarNode) else node.value
        pairs = isinstance(node, yaml.MappingNode)
        children = [child for pair in inside for child in pair] if pairs else inside
        inner = [self._extents[id(child)] for child in children]
        depth = 1 + max((each.depth for each in inner), default=0)
        extent = _Extent(1 + sum(each.values for each in inner), depth)
        if extent.values > MOST:
            raise _at(node.start_mark, f"more than {MOST:,} values, aliases followed")
        if extent.depth > DEEPEST:
            raise self._deep(node.start_mark)
        return extent

    def _deep(self, mark: Any) -> yaml.YAMLError:
        return _at(mark, f"lists and mappings lie more than {DEEPEST} deep")

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A plain value; raises `YAMLError` on a value that PyYAML cannot construct."""
        nested = not isinstance(node, yaml.ScalarNode)
        if node.tag not in (_NESTED if nested else _TAGS):
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            raise _at(node.start_mark, f"{kind} {_text(node)}: a value is {_WORDS}")
        if nested:
            return super().construct_object(node, deep)
        try:
            return _plain(super().construct_object(node, deep), node)
        except (ValueError, KeyError, OverflowError, IndexError):
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            raise _at(node.start_mark, f"{_text(node)} is no {kind}") from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without repeated keys, each of them text or a number."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, bool) or not isinstance(key, str | int | float) or key != key:
                raise _at(key_node.start_mark, f"{_text(key_node)} as a key; put it in quotes")
            if key in seen:
                raise _at(key_node.start_mark, f"'{key}' is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _plain(value: Any, node: yaml.Node) -> Any:
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise _at(node.start_mark, f"{_text(node)} is beyond 64 bits")
    if isinstance(value, str) and _CONTROL.search(value):
        raise _at(node.start_mark, f"{_text(node)} has a control character or half a letter")
    return value


def _text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"
    return repr(node.value if len(node.value) < 40 else node.value[:40] + "…")


def _at(mark: Any, words: str) -> yaml.YAMLError:
    return yaml.YAMLError(f"line {mark.line + 1}: {words}")


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)  # type: ignore[type-var]


class _Dumper(yaml.SafeDumper):
    """SafeDumper that puts text in quotes which YAML 1.1 or 1.2 would read as something else."""


# The core schema of YAML 1.2 (section 10.3.2): what a value without quotes and tag is
_CORE = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}
for _name, (_pattern, _first) in _CORE.items():
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), _first
        )


def written(content: dict[str, Any]) -> str:
    """The mapping as the text of a YAML file, which `read_yaml` reads as the same again."""
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse(pairs: Iterable[str]) -> dict[str, Any]:
    """`['alpha=0.1', 'stratified=true']` as a mapping; values are spelled as in YAML.

    Raises `FedbenchError` on a pair without a key or '=', and on a key given twice.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not (key.strip() and sign):
            raise FedbenchError(f"'{pair}': a setting is written key=value")
        if key.strip() in settings:
            raise FedbenchError(f"'{pair}': '{key.strip()}' is given twice")
        settings[key.strip()] = read_value(text)
    return settings


def split(names: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())
