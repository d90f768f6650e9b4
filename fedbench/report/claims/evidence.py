"""What one comparison shows, on printed and on measured numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.interval import FEWEST, Interval
from fedbench.report.claims.limit import Risks
from fedbench.report.claims.measured import Measured
from fedbench.report.claims.source import Source
from fedbench.report.claims.verdict import Verdict
from fedbench.report.differences import merged


@dataclass(frozen=True)
class Evidence:
    """One comparison of a `metric`: its effect on printed and on measured numbers, in `unit`.

    `found` is None if this scale plans no such runs; `risks` of its bounds and the name of its
    `test` say how it is judged; `detectable`: the smallest true effect that these pairs would have
    shown with a probability of 80 %, not a number where they have no spread; `planned`: pairs that
    it plans; `runs`: those behind it; `substituted`: how they differ from the paper's.
    """

    cell: str
    label: str
    metric: str
    unit: str
    printed: float | None
    printed_verdict: Verdict | None
    test: str
    risks: Risks
    found: Interval | None
    detectable: float
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
    """Both sources of a claim's numbers."""

    measured: Measured
    quoted: Source

    def evidence(self, cell: str, contrast: Contrast, risks: Risks) -> Evidence:
        """The comparison, carried out."""
        printed = contrast.printed(self.quoted)
        points = [self.measured.cells(point) for point in contrast.points]
        planned = min(len(cells) for cells in points)
        cells = [cell for own in points for cell in own]
        known = contrast.measured(self.measured)
        found = contrast.limit.interval(known, risks) if planned else None
        return Evidence(
            *(cell, contrast.label, str(contrast.points[0]["metric"]), contrast.unit, printed),
            None if printed is None else _of_number(contrast, printed),
            *(contrast.test, contrast.limit.bounds(risks), found),
            contrast.limit.detectable(known, risks),
            contrast.limit.of(known, risks),
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
        yield from _untested(found)
        diverged = self.measured.diverged(contrast.points)
        if diverged:
            yield f"{diverged} diverged"


def _untested(found: Interval) -> Iterator[str]:
    """Why a comparison that was run has no test."""
    if 0 < found.pairs < FEWEST:
        yield f"{found.pairs} pair{'s' if found.pairs > 1 else ''}, no interval"
    elif found.is_constant:
        yield "the same in every pair, no spread to test"
    elif found.pairs and not found.is_test:
        yield "a value is not finite" if np.isnan(found.effect) else "no spread to compare"


def _of_number(contrast: Contrast, number: float) -> Verdict:
    return Verdict.HOLDS if contrast.limit.allows(number) else Verdict.FAILS
