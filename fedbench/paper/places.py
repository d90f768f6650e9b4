"""Places in a grid, and moments of a run: levels, stars, 'accuracy@best'."""

from typing import Literal, NamedTuple

from fedbench.base.errors import FedbenchError

Level = str | int | float
Where = dict[str, Level | tuple[Level, ...]]


def as_tuple(levels: Level | tuple[Level, ...]) -> tuple[Level, ...]:
    """One level or several, as several."""
    return levels if isinstance(levels, tuple) else (levels,)


def stems(pattern: Level | tuple[Level, ...], levels: tuple[Level, ...]) -> list[str]:
    """What the star of a pattern stands for: FedAvg, for '*+ASD' among FedAvg and FedAvg+ASD."""
    if not has_star(pattern):
        return []
    head, _, tail = str(pattern).partition("*")
    size = len(head) + len(tail)
    fitting = [x for x in map(str, levels) if x.startswith(head) and x.endswith(tail)]
    return [x[len(head) : len(x) - len(tail)] for x in fitting if len(x) > size]


def has_star(level: Level | tuple[Level, ...]) -> bool:
    """Whether it is a pattern."""
    return isinstance(level, str) and level.count("*") == 1


def level_text(level: Level) -> str:
    """A level as written: 0.1, 1, a name."""
    return f"{level:g}" if isinstance(level, float) else str(level)


Word = Literal["final", "best", "mean", "median", "std", "jumps"]
At = Word | int
_WORDS: tuple[Word, ...] = ("final", "best", "mean", "median", "std", "jumps")
_VARYING = ("std", "jumps")  # of a single round there is none


class Reading(NamedTuple):
    """A column of the history and the moment: a round, or over evaluated rounds.

    `last`: over so many of the last evaluated rounds; 0: over all. 'jumps' is the mean size of the
    step from one evaluated round to the next and 'std' the standard deviation (ddof = 1) over the
    rounds: both are low where the curve is smooth.
    """

    metric: str
    at: At
    last: int = 0

    @property
    def moment(self) -> str:
        """As it is spelled after the @: 'mean:10'."""
        return f"{self.at}:{self.last}" if self.last else str(self.at)

    def needs(self, eval_every: int) -> int:
        """How many rounds a run must have for it; every so many are evaluated, and the last."""
        return self.at if isinstance(self.at, int) else max(self.last - 1, 0) * eval_every + 1


def reading(text: str, usual: At = "final") -> Reading:
    """'accuracy@best' is (accuracy, best); without a moment the usual one is meant."""
    metric, _, moment = text.partition("@")
    if not moment:
        return Reading(metric, usual)
    if _is_count(moment) and int(moment):
        return Reading(metric, int(moment))
    word, colon, last = moment.partition(":")
    for known in _WORDS:
        if word == known:
            return Reading(metric, known, _window(text, known, last) if colon else 0)
    raise FedbenchError(f"metric '{text}': after @ must stand {', '.join(_WORDS)} or a round ≥ 1")


def _window(text: str, word: Word, last: str) -> int:
    """How many of the last evaluated rounds are meant."""
    if word == "final":
        raise FedbenchError(f"metric '{text}': final is one round; mean:N looks at the last N")
    fewest = 2 if word in _VARYING else 1
    if not _is_count(last) or int(last) < fewest:
        raise FedbenchError(
            f"metric '{text}': after {word}: must stand a number of evaluated rounds ≥ {fewest}"
        )
    return int(last)


def _is_count(text: str) -> bool:
    """Whether it is a number of rounds; Python does not read numbers of thousands of digits."""
    return text.isdecimal() and len(text) < 10
