"""When a metric is read from a run's history: 'accuracy', 'accuracy@best', 'accuracy@50'."""

from typing import Literal, NamedTuple

from fedbench.errors import FedbenchError

Word = Literal["final", "best", "mean", "median", "jumps"]
At = Word | int
_WORDS: tuple[Word, ...] = ("final", "best", "mean", "median", "jumps")


class Reading(NamedTuple):
    """A column of the history and the moment: a round, or over all evaluated rounds.

    'jumps' is the mean size of the step from one evaluated round to the next: low where smooth.
    """

    metric: str
    at: At


def reading(text: str, usual: At = "final") -> Reading:
    """'accuracy@best' is (accuracy, best); without a moment the usual one is meant."""
    metric, _, at = text.partition("@")
    if not at:
        return Reading(metric, usual)
    for word in _WORDS:
        if at == word:
            return Reading(metric, word)
    if not at.isdecimal() or at == "0":
        raise FedbenchError(
            f"metric '{text}': after @ must stand {', '.join(_WORDS)} or a round ≥ 1"
        )
    return Reading(metric, int(at))
