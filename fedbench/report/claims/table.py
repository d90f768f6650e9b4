"""A paper's findings as a tidy table: one row a comparison."""

import pandas as pd

from fedbench.report.claims.evidence import Evidence
from fedbench.report.claims.finding import Finding

COLUMNS = (
    "paper", "claim", "kind", "text", "printed", "measured", "cell", "comparison", "unit",
    "printed_effect", "printed_verdict", "effect", "low", "high", "level", "pairs", "planned",
    "verdict", "substituted", "note", "run_ids",
)  # fmt: skip


def tidy(paper: str, found: list[Finding]) -> pd.DataFrame:
    """All comparisons with their claim's verdicts; `level` is what the interval covers."""
    rows = [(*_claim(paper, one), *_row(row, one.level)) for one in found for row in one.rows]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _claim(paper: str, found: Finding) -> tuple[str, ...]:
    claim = found.claim
    printed = found.printed.verdict.value if found.printed else ""
    return (paper, found.key, claim.kind, claim.text, printed, found.words)


def _row(row: Evidence, level: float) -> tuple[object, ...]:
    found = row.found
    numbers = (found.effect, found.low, found.high) if found else (None, None, None)
    printed = (row.printed, row.printed_verdict.value if row.printed_verdict else None)
    pairs = (level if found and found.is_test else None, found.pairs if found else 0, row.planned)
    return (
        *(row.cell, row.label, row.unit, *printed, *numbers, *pairs),
        *(row.verdict.value, row.substituted, row.note, ";".join(row.runs)),
    )
