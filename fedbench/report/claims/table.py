"""A paper's findings as a tidy table: one row a comparison."""

import math

import pandas as pd

from fedbench.report.claims.evidence import Evidence
from fedbench.report.claims.finding import Finding
from fedbench.report.claims.interval import Interval

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
