"""Rows of the results: commands measured in turn, medians and quartiles over repeats."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from speed.process import Command, Measured, MeasurementError, measure


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


Against = Mapping[str, Sequence[str]]  # a command's label → those that its seconds are divided by


def rows(
    section: str,
    commands: Sequence[Command],
    against: Against,
    repeats: int,
    run: Callable[[Command], Measured] = measure,
) -> Iterator[Row]:
    """One row per command; one that fails says why and is not tried again."""
    found: dict[str, list[Measured]] = {command.label: [] for command in commands}
    reasons = {command.label: command.missing for command in commands}
    for turn in range(repeats):
        for command in (c for c in commands if not reasons[c.label]):
            print(f"{section}, turn {turn + 1} of {repeats}: {command.label}", file=sys.stderr)
            try:
                found[command.label].append(run(command))
            except MeasurementError as error:
                reasons[command.label] = str(error)
    seconds = {label: [m.seconds for m in measured] for label, measured in found.items()}
    for command in commands:
        label = command.label
        if reasons[label]:
            yield Row(section, label, note=reasons[label])
            continue
        others = [o for o in against.get(label, ()) if o in reasons and not reasons[o]]
        yield Row(
            section,
            label,
            seconds=Spread.of(seconds[label]),
            ratios={other: paired(seconds[label], seconds[other]) for other in others},
            startup=median(m.startup for m in found[label]),
            peak_bytes=max(m.peak_bytes for m in found[label]),
            repeats=seconds[label],
        )
