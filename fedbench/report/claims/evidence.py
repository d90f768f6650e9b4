"""What one comparison shows, on printed and on measured numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.interval import FEWEST, Interval
from fedbench.report.claims.measured import Measured
from fedbench.report.claims.source import Source
from fedbench.report.claims.verdict import Verdict
from fedbench.report.differences import merged


@dataclass(frozen=True)
class Evidence:
    """One comparison of a `metric`: its effect on printed and on measured numbers, in `unit`.

    `found` is None if this scale plans no such runs; `planned`: pairs that it plans; `runs`: those
    behind it; `substituted`: how they differ from the paper's.
    """

    cell: str
    label: str
    metric: str
    unit: str
    printed: float | None
    printed_verdict: Verdict | None
    found: Interval | None
    verdict: Verdict
    planned: int
    substituted: str
    note: str
    runs: tuple[str, ...]

    @property
    def own_verdict(self) -> Verdict:
        """The verdict where the runs are the paper's experiment; undecided where they are not."""
        return Verdict.UNDECIDED if self.substituted else self.verdict


@dataclass(frozen=True)
class Bench:
    """Both sources and the coverage of each interval."""

    measured: Measured
    quoted: Source
    level: float

    def evidence(self, cell: str, contrast: Contrast) -> Evidence:
        """The comparison, carried out."""
        printed = contrast.printed(self.quoted)
        points = [self.measured.cells(point) for point in contrast.points]
        planned = min(len(cells) for cells in points)
        cells = [cell for own in points for cell in own]
        found = contrast.measured(self.measured, self.level) if planned else None
        return Evidence(
            *(cell, contrast.label, str(contrast.points[0]["metric"]), contrast.unit, printed),
            None if printed is None else _of_number(contrast, printed),
            found,
            contrast.limit.of(found) if found else Verdict.UNDECIDED,
            planned,
            merged(cell.substituted for cell in cells),
            "; ".join(self._notes(contrast, found, planned)),
            tuple(dict.fromkeys(cell.run.id for cell in cells)),
        )

    def _notes(self, contrast: Contrast, found: Interval | None, planned: int) -> Iterator[str]:
        if found is None:
            yield "not run at this scale"
            return
        if any(self.measured.too_late(point) for point in contrast.points):
            yield "a round after the last of this scale"
        elif not found.pairs and self.measured.complete(contrast.points):
            yield "no run has this metric"
        elif found.pairs < planned:
            yield f"{planned - found.pairs} of {planned} pairs missing"
        if 0 < found.pairs < FEWEST:
            yield f"{found.pairs} pair{'s' if found.pairs > 1 else ''}, no interval"
        elif found.pairs and not found.is_test:
            yield "a value is not finite" if np.isnan(found.effect) else "no spread to compare"
        diverged = self.measured.diverged(contrast.points)
        if diverged:
            yield f"{diverged} diverged"


def _of_number(contrast: Contrast, number: float) -> Verdict:
    return Verdict.HOLDS if contrast.limit.allows(number) else Verdict.FAILS
