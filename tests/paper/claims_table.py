"""Writes tests/paper/claims.csv, one row per claim of the five papers, by `python -m` this module.

A claim that is lost, loses its `negate` or its margin, or looks at another metric then fails a test
until the table is written again and its change is read. No run is needed.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedbench.paper.claims import Claim
from fedbench.paper.printed_numbers import read_printed
from fedbench.plan.plan import Plan
from fedbench.report.claims.finding import Finding
from fedbench.report.claims.judge import findings
from fedbench.report.values.collected_frames import Collected, read
from tests.paper import published
from tests.paper.published import WORKFLOW

FILE = Path(__file__).with_name("claims.csv")
COLUMNS = (
    *("paper", "claim", "kind", "negate", "cells", "by", "margin", "relative", "metrics"),
    *("comparisons", "printed"),
)


def rows(plan: Plan) -> Iterator[dict[str, str]]:
    """What each claim is and what the printed numbers say of it, in the files' order."""
    for paper in plan.papers:
        printed = read_printed(WORKFLOW / f"papers/{paper}.printed.csv")
        nothing = Collected(read(WORKFLOW / "no such file"), WORKFLOW / "no runs")
        for found in findings(plan, paper, nothing, printed):
            values = (paper, found.key, *_form(found.claim), *_judged(found))
            yield dict(zip(COLUMNS, map(str, values), strict=True))


def _form(claim: Claim) -> tuple[Any, ...]:
    """Fields that a kind of claim does not have are empty."""
    fields = ("cells", "by", "margin", "relative")
    return (claim.kind, claim.negate, *(getattr(claim, field, "") for field in fields))


def _judged(found: Finding) -> tuple[Any, ...]:
    metrics = " ".join(dict.fromkeys(row.metric for row in found.rows))
    return metrics, len(found.rows), found.printed.verdict.value if found.printed else ""


if __name__ == "__main__":
    with FILE.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(published.plan()))
