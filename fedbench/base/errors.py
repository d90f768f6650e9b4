"""The one exception that bad input raises: it names the place, the bad value, what is allowed."""

import difflib
import os
import re
import reprlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

_LONGEST = 480  # characters of a message, so that a terminal and a log show all of it
_LIST = 304  # characters of them that are a list of names
_ELSEWHERE = {  # what settings are called elsewhere, where spelling alone does not tell
    **{"learning_rate": "lr", "step_size": "lr", "local_steps": "steps", "num_steps": "steps"},
    **dict.fromkeys(("fraction", "client_fraction", "fraction_fit", "c"), "participation"),
}
_NUMBER = re.compile(r"[-+]?\d*\.?\d+([eE][-+]?\d+)?\.?")
_NAMES = 60  # names that a message lists, and characters that it quotes of a bad name


class FedbenchError(ValueError):
    """Bad input: a YAML file, a data file, a command line or a checkpoint.

    Its text is one short line of printable characters, whatever the bad value contains, without the
    password of an address.
    """

    def __init__(self, text: object) -> None:
        line = " ".join(str(text).split())
        # a terminal would obey control characters
        escaped = [x if x.isprintable() else x.encode("unicode_escape").decode() for x in line]
        super().__init__(_shortened(without_password("".join(escaped))))


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put the place in front of every `FedbenchError` raised in the block."""
    try:
        yield
    except FedbenchError as error:
        raise FedbenchError(f"{place}: {error}") from None


@contextmanager
def failing(
    said: str, remedy: str = "", kinds: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """Raise 'said (why); remedy' for an error of these kinds; other `FedbenchError`s go through."""
    try:
        yield
    except kinds as error:
        known = isinstance(error, FedbenchError)
        if known and FedbenchError not in kinds:
            raise
        why = str(error) if known else short(error)
        raise FedbenchError(f"{said} ({why})" + (f"; {remedy}" if remedy else "")) from error


def require_returned(what: str, made: object, kind: type) -> None:
    """Raise `FedbenchError` if what a user's class made is of no such kind, as without `return`."""
    if not isinstance(made, kind):
        raise FedbenchError(f"{what} returned {shown(made)}, which is no {kind.__name__}")


@contextmanager
def called(name: str, own: str) -> Iterator[None]:
    """Put `name`, as YAML files spell it, in the place of an object's own name before an error."""
    try:
        yield
    except FedbenchError as error:
        if not str(error).startswith(f"{own}: "):
            raise
        raise FedbenchError(f"{name}: {str(error).removeprefix(f'{own}: ')}") from None


@contextmanager
def of_file(file: Path) -> Iterator[None]:
    """Put the file in front of a `FedbenchError` raised in the block that names no file itself."""
    try:
        yield
    except FedbenchError as error:
        place, colon, _ = str(error).partition(": ")
        told = "; " in place or " = " in place  # a sentence, maybe with a slash in a value
        if colon and not told and (os.sep in place or os.path.exists(place)):
            raise
        raise FedbenchError(f"{file}: {error}") from None


def unknown(kind: str, name: object, allowed: Iterable[str]) -> FedbenchError:
    """The error for a name that is not in `allowed`; it suggests a similar one, but no number."""
    names = sorted(map(str, allowed))
    said = shown(name)[:_NAMES]
    lower = [each.lower() for each in names]
    near = [] if _NUMBER.fullmatch(said) else difflib.get_close_matches(said.lower(), lower, 1, 0.5)
    near = [_ELSEWHERE[said.lower()]] if _ELSEWHERE.get(said.lower()) in names else near
    spelled = [each for each in names if each.lower() in near]  # moon and MOON
    best = difflib.get_close_matches(said, spelled, 1, 0)
    ends = accumulate(len(each) + 2 for each in names[:_NAMES])
    room = sum(end <= _LIST for end in ends)
    everything = ", ".join(names[:room] + ["…"] * (room < len(names))) or "nothing"
    hint = f"did you mean '{best[0]}'?" if best else f"choose from {everything}"
    return FedbenchError(f"no {kind} '{said}'; {hint}")


def require_among(place: str, kind: str, name: object, allowed: Collection[object]) -> None:
    """Raise `FedbenchError`, as `unknown` words it, with the place if any, on another name."""
    if name not in allowed:
        error = unknown(kind, name, map(str, allowed))
        raise FedbenchError(f"{place}: {error}") if place else error


def mapping_of(content: Any, place: object) -> dict[str, Any]:
    """The content of a file, which must be a mapping; raises `FedbenchError` on anything else."""
    if not isinstance(content, dict):
        raise FedbenchError(f"{place}: must be a mapping of fields, not {type(content).__name__}")
    return content


def shown(value: object) -> str:
    """A bad value for a message: text as it is, anything else as Python writes it, cut short."""
    return _shortened(value) if isinstance(value, str) else _brief.repr(value)


def quoted(value: object) -> str:
    """A bad value for a message, as by `shown`, with text in quotes."""
    return repr(_shortened(value)) if isinstance(value, str) else _brief.repr(value)


def without_password(text: str) -> str:
    """The text with *** for the passwords of addresses: 'https://me:***@host'."""
    return re.sub(r"(://[^\s:/@]*:)[^\s'\"]*@", r"\1***@", text)


def _shortened(text: str) -> str:
    """The beginning and the end of a long text: they say where it is wrong and what to do."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 80
_brief.maxdict = _brief.maxlist = _brief.maxtuple = 6
_brief.maxlevel = 4


def short(error: Exception) -> str:
    """An exception in one line: its class and the first line of its message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
