"""What a claim's comparisons show, printed and measured, and the table of all of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbench.paper.claims import Claim
from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.interval import FEWEST, Interval
from fedbench.report.claims.limit import Risks, Verdict
from fedbench.report.claims.source import Measured, Source
from fedbench.report.values.differences import merged
from fedbench.report.values.numbers import UNTESTED


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


@dataclass(frozen=True)
class Judgement:
    """A verdict, and those that it follows from by what each is called: cells, or claims."""

    verdict: Verdict
    parts: tuple[tuple[str, Verdict], ...]

    def having(self, verdict: Verdict) -> list[str]:
        """Which of the parts came to that."""
        return [name for name, found in self.parts if found == verdict]


@dataclass(frozen=True)
class Finding:
    """A claim's verdicts.

    `printed`: on the paper's own numbers, None where it prints none; `measured`: on runs that are
    the paper's experiment; `trend`: on all runs, substitutes too.
    """

    key: str
    claim: Claim
    printed: Judgement | None
    measured: Judgement
    trend: Judgement
    rows: tuple[Evidence, ...]

    @property
    def substituted(self) -> str:
        """How runs behind it differ from the paper's; empty if none does."""
        found = (row.substituted for row in self.rows if row.substituted)
        return " / ".join(dict.fromkeys(found))

    @property
    def tested(self) -> bool:
        """Whether the paper's own experiment decides it, or was all there is to it."""
        return not self.substituted or self.measured.verdict != Verdict.UNDECIDED

    @property
    def words(self) -> str:
        """The verdict as it is shown."""
        if self.tested:
            return self.measured.verdict.value
        return f"{UNTESTED} (substitute trend: {self.trend.verdict.value})"


COLUMNS = (
    "paper", "claim", "kind", "text", "printed", "measured", "cell", "comparison", "unit",
    "printed_effect", "printed_verdict", "effect", "low", "high", "low_level", "high_level",
    "hold_level", "fail_level", "smallest_detectable", "pairs", "planned", "verdict",
    "substituted", "note", "run_ids",
)  # fmt: skip


def tidy(paper: str, found: list[Finding]) -> pd.DataFrame:
    """All comparisons with their claim's verdicts.

    `low_level` and `high_level` are what the two bounds cover, `hold_level` and `fail_level` what a
    bound must cover for the comparison to hold and to fail, by its place in the claim.
    """
    rows = [(*_claim(paper, one), *_row(row)) for one in found for row in one.rows]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _claim(paper: str, found: Finding) -> tuple[str, ...]:
    claim = found.claim
    printed = found.printed.verdict.value if found.printed else ""
    return (paper, found.key, claim.kind, claim.text, printed, found.words)


def _row(row: Evidence) -> tuple[object, ...]:
    found = row.found or Interval(math.nan, math.nan, math.nan, 0)
    bounds = (found.effect, found.low, found.high, found.low_level, found.high_level)
    levels = (1 - row.risks.hold, 1 - row.risks.fail, row.detectable)
    printed = (row.printed, row.printed_verdict.value if row.printed_verdict else None)
    return (
        *(row.cell, row.label, row.unit, *printed, *bounds, *levels, found.pairs, row.planned),
        *(row.verdict.value, row.substituted, row.note, ";".join(row.runs)),
    )
