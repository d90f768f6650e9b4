"""A row of the results: medians and quartiles over repeats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles beside it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Spread":
        """Of at least one number; with one, the quartiles are that number."""
        if len(numbers) == 1:
            return cls(numbers[0], numbers[0], numbers[0])
        low, _, high = quantiles(numbers, n=4, method="inclusive")
        return cls(low, median(numbers), high)


@dataclass(frozen=True)
class Row:
    """What was measured of one thing.

    seconds: per round and process; ratios: its seconds over those of another row in the same
    repeat, by that row's name; declared: the ratio that follows from the passes which a method
    declares; startup: seconds until the first round has ended; peak_bytes: of main memory; note:
    what else the table says, or why there are no numbers; repeats: the seconds of each repeat.
    """

    section: str
    name: str
    seconds: Spread | None = None
    ratios: dict[str, Spread] = field(default_factory=dict)
    declared: float | None = None
    startup: float | None = None
    peak_bytes: int | None = None
    note: str = ""
    repeats: list[float] = field(default_factory=list)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """The ratio of two things that were measured in turn: the median of the repeats' ratios."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
