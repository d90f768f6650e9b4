"""Verdicts on claims as a table for other programs: one row per comparison."""

import math

import pandas as pd

from fedbench.report.claims.finding import Evidence, Finding
from fedbench.report.claims.interval import Interval
from fedbench.report.claims.reason import reason_words

COLUMNS = (
    "paper", "claim", "kind", "text", "ours", "reading", "printed", "measured", "reason",
    "cell", "comparison", "unit", "printed_effect", "printed_verdict",
    "effect", "low95", "high95", "p", "as_claimed", "low", "high", "low_level", "high_level",
    "hold_level", "fail_level", "smallest_detectable", "pairs", "planned", "verdict",
    "substituted", "note", "run_ids",
)  # fmt: skip


def tidy(paper: str, judged: list[Finding]) -> pd.DataFrame:
    """One row per comparison, with the verdicts of its claim.

    `low95` to `high95` is the two-sided 95 % confidence interval, `p` the two-sided p-value. `low`
    and `high` are the bounds that decide, `low_level` and `high_level` their confidence levels, 0
    to 1; `hold_level` and `fail_level` are the levels that a bound needs for the comparison to hold
    and to fail, which depend on how many comparisons the claim makes.
    """
    rows = [(*_claim(paper, finding), *_row(row)) for finding in judged for row in finding.rows]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _claim(paper: str, finding: Finding) -> tuple[object, ...]:
    claim, reason = finding.claim, reason_words(finding)
    printed = finding.printed.verdict.value if finding.printed else ""
    whose = (claim.ours, claim.reading)
    return (paper, finding.key, claim.kind, claim.text, *whose, printed, finding.words, reason)


def _row(row: Evidence) -> tuple[object, ...]:
    nothing = Interval(math.nan, math.nan, math.nan, 0)
    shown, plain = row.interval or nothing, row.plain or nothing
    effect = (shown.effect, plain.low, plain.high, row.p, row.as_claimed)
    bounds = (shown.low, shown.high, shown.low_level, shown.high_level)
    levels = (1 - row.risks.hold, 1 - row.risks.fail, row.detectable)
    printed = (row.printed, row.printed_verdict.value if row.printed_verdict else None)
    return (
        *(row.cell, row.label, row.unit, *printed, *effect, *bounds, *levels),
        *(shown.pairs, row.planned, row.words, row.substituted, row.note, ";".join(row.runs)),
    )
