"""Measures several commands in turn, A B A B, so that a drift of the machine touches all alike."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from speed.commands import Command
from speed.process import Measured, MeasurementError, measure
from speed.rows import Row, Spread, paired

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
