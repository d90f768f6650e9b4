"""The one exception a user meets: the place, the bad value and what is allowed."""

import difflib
import reprlib
from collections.abc import Iterable

_LONGEST = 480  # letters of a sentence that a terminal and a log still show
_NAMES = 60  # names that a sentence lists


class FedbenchError(ValueError):
    """Bad input: a config, a data file, a command line or a checkpoint.

    Its text is one line of printable letters, whatever stood in the bad value, and not a long one.
    """

    def __init__(self, text: object) -> None:
        super().__init__(_shortened(_printable(str(text))))


def unknown(kind: str, name: object, allowed: Iterable[str]) -> FedbenchError:
    """The error for a name that is not in `allowed`, with the nearest one suggested."""
    names = {known.lower(): known for known in sorted(map(str, allowed))}
    said = shown(name)[:_NAMES]
    near = difflib.get_close_matches(said.lower(), names, n=1, cutoff=0.5)
    listed = [*names.values()][:_NAMES]
    everything = ", ".join(listed) + (", …" if len(names) > len(listed) else "") or "nothing"
    hint = f"did you mean '{names[near[0]]}'?" if near else f"choose from {everything}"
    return FedbenchError(f"no {kind} '{said}'; {hint}")


def shown(value: object) -> str:
    """A bad value in a sentence: text as it is, anything else as Python writes it, cut short."""
    return _shortened(value) if isinstance(value, str) else _brief.repr(value)


def quoted(value: object) -> str:
    """As `shown`, with text in quotes."""
    return repr(_shortened(value)) if isinstance(value, str) else _brief.repr(value)


def _shortened(text: str) -> str:
    """The beginning and the end, which say where and what to do."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def _printable(text: str) -> str:
    """One line; what a terminal could take for a command is spelled out."""
    words = " ".join(text.split())
    return "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in words)


_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 80
_brief.maxdict = _brief.maxlist = _brief.maxtuple = 6
_brief.maxlevel = 4


def short(error: Exception) -> str:
    """Put an exception in one line: its kind and the first line of its message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
