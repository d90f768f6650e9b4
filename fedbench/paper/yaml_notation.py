"""How papers' files write the levels of axes, and metrics at a moment: '*+ASD', 'accuracy@best'."""

import math
from collections.abc import Collection
from typing import NamedTuple

from fedbench.base.errors import FedbenchError, at, quoted, unknown

Level = str | bool | int | float
Where = dict[str, Level | tuple[Level, ...]]


def as_tuple(levels: Level | tuple[Level, ...]) -> tuple[Level, ...]:
    """One level or several, as a tuple."""
    return levels if isinstance(levels, tuple) else (levels,)


def stems(pattern: Level | tuple[Level, ...], levels: tuple[Level, ...]) -> list[str]:
    """What a pattern's star can stand for: '*+ASD' gives FedAvg if FedAvg+ASD is a level."""
    if not is_pattern(pattern, levels):
        return []
    head, _, tail = str(pattern).partition("*")
    size = len(head) + len(tail)
    fitting = [x for x in map(str, levels) if x.startswith(head) and x.endswith(tail)]
    return [x[len(head) : len(x) - len(tail)] for x in fitting if len(x) > size]


def is_pattern(level: Level | tuple[Level, ...], levels: tuple[Level, ...]) -> bool:
    """Whether it is a pattern: text with one star that is not itself a level, such as 'Ours*'."""
    return isinstance(level, str) and level.count("*") == 1 and level not in levels


def level_text(level: Level) -> str:
    """A level as files and reports write it: 0.1, 1, true, or a name."""
    if isinstance(level, bool):
        return str(level).lower()
    if not isinstance(level, float):
        return str(level)
    short = f"{level:g}"  # of six digits, which may be those of a neighbour too
    return short if float(short) == level else repr(level)


def number_in(level: Level) -> float | None:
    """The number that a level is, or that a text spells; None of all others."""
    if isinstance(level, bool) or "_" in str(level):
        return None
    try:
        value = float(level)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def no_level(level: Level, levels: Collection[Level]) -> FedbenchError:
    """The error for a level that is not there; if one differs in its quotes alone, that one."""
    for other in levels:
        number, pair = number_in(other), (level, other)
        same = level_text(other) == level_text(level)
        if same or (number is not None and number == number_in(level)):
            this, that = (quoted(x) if isinstance(x, str) else level_text(x) for x in pair)
            return FedbenchError(f"no level {this}; write it as it is listed: {that}")
    return unknown("level", level_text(level), map(level_text, levels))


At = str | int
_WORDS = ("final", "best", "held-out", "mean", "median", "std", "jumps")
# What is computed over N rounds, and the fewest of them
_FEWEST = {"best": 1, "mean": 1, "median": 1, "std": 2, "jumps": 2, "last": 1}
VARYING = ("std", "jumps")  # they say how much a curve varies
HELD_OUT = "val_accuracy"  # the column that decides for 'held-out'
_RENAMED = {"kilopasses": "thousand_sample_passes"}  # columns by their names up to version 0.1.0


class Target(NamedTuple):
    """A value of a column that a run is to reach, such as an accuracy of 0.45."""

    column: str
    value: float

    def __str__(self) -> str:
        """As it is written after 'to:'; an accuracy is a number alone."""
        number = level_text(self.value)
        return number if self.column == "accuracy" else f"{self.column}={number}"


class Reading(NamedTuple):
    """A column of the history, and the moment at which it is read: one round, or several.

    `at` is a round, 'final', 'best' or 'held-out', the first round at which the accuracy on
    held-out data was best, which looks at no test sample; or what is computed over evaluated
    rounds: 'mean', 'median', 'std' (the standard deviation, ddof = 1) or 'jumps' (the mean absolute
    change from one evaluated round to the next); the last two are low where the curve is smooth.
    With `last` above 0 it is computed over the evaluated rounds among the run's `last` rounds;
    'last:5' is the mean over the last 5 rounds that were evaluated, however many rounds lie
    between. With 'to' it is the first evaluated round at which the `target` is reached:
    'round@to:0.45' is how many rounds an accuracy of 0.45 takes, 'megabytes@to:loss=0.3' how much
    traffic a test loss of 0.3.
    """

    metric: str
    at: At
    last: int = 0
    target: Target | None = None

    @property
    def moment(self) -> str:
        """The moment as it is written after the @: 'mean:10'."""
        after = self.target or self.last
        return f"{self.at}:{after}" if after else str(self.at)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the history that it needs."""
        if self.at == "held-out":
            return (self.metric, HELD_OUT)
        return (self.metric, self.target.column) if self.target else (self.metric,)

    @property
    def needs(self) -> int:
        """The rounds that a run needs for it."""
        window = 1 if self.at == "last" else self.last
        return self.at if isinstance(self.at, int) else max(window, 1)


def reading(text: str, usual: At = "final") -> Reading:
    """Read 'accuracy@best' as (accuracy, best); a metric without a moment gets the `usual` one."""
    metric, _, moment = text.partition("@")
    if metric in _RENAMED:
        raise FedbenchError(f"metric '{text}': {metric} is called {_RENAMED[metric]} now")
    if not moment or _is_count(moment, 1):
        return Reading(metric, int(moment) if moment else usual)
    word, colon, after = moment.partition(":")
    with at(f"metric '{text}'"):
        if word == "to":
            return Reading(metric, "to", target=_target(after))
        if moment in _WORDS:
            return Reading(metric, moment)
        if not colon or word not in _FEWEST:
            others = "such as mean:N for the mean of the last N, last:N or to:0.45"
            raise FedbenchError(f"after @ must stand {', '.join(_WORDS)}, a round ≥ 1, or {others}")
        if not _is_count(after, _FEWEST[word]):
            raise FedbenchError(f"after {word}: must stand a number of rounds ≥ {_FEWEST[word]}")
        return Reading(metric, word, int(after))


def _target(words: str) -> Target:
    column, sign, number = words.rpartition("=")
    column = column if sign else "accuracy"
    value = number_in(number)
    share = column.removeprefix("val_").partition("[")[0] in ("accuracy", "macro_f1")
    if not column or value is None or (share and not 0 < value <= 1):
        told = "after to: must stand an accuracy or F1 above 0 and at most 1, such as to:0.45"
        raise FedbenchError(f"{told}, or a column and its value, such as to:loss=0.3")
    return Target(column, value)


def _is_count(text: str, least: int) -> bool:
    """Whether it is such a number of rounds (Python refuses to read thousands of digits)."""
    return text.isdecimal() and len(text) < 10 and int(text) >= least
