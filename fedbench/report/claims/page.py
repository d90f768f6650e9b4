"""The claims as a paper's page, its CSV file and the command `fedbench claims` show them."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fedbench import store
from fedbench.base.errors import unknown
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_numbers
from fedbench.report.claims.finding import Evidence, Finding, Label
from fedbench.report.claims.judge import findings
from fedbench.report.claims.tests import Interval
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.words import say


class Filter(NamedTuple):
    """What claims can be filtered by: a verdict, and what it is on, in words for a count of them.

    `group` is 'printed' for the printed numbers, 'here' for the runs here, and 'reading' for those
    runs under a reading of ours; `mark` is the verdict in one word.
    """

    group: str
    mark: str
    words: str

    @property
    def tag(self) -> str:
        """Its name: 'here-not-supported'."""
        return f"{self.group}-{self.mark}"


_FILTERS = (
    Filter("printed", "holds", "hold"),
    Filter("printed", "fails", "fail"),
    Filter("printed", "undecided", "undecided"),
    Filter("printed", "none", "no verdict"),
    *(Filter("here", label.mark, label.value) for label in Label),
    *(Filter("reading", x.mark, x.value) for x in Label if x is not Label.NOT_TESTED),
)
FILTERS = {each.tag: each for each in _FILTERS}


def verdicts(
    plan: Plan, results: Path, papers: Path, only: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row per claim of the plan, in words, with the entries of `FILTERS` that it belongs to.

    papers: the folder of the printed numbers; only: of these entries a claim has one at least, all
    claims if there are none. Raises `FedbenchError` for a word that `FILTERS` does not have.
    """
    for word in only:
        if word not in FILTERS:
            raise unknown("verdict", word, FILTERS)
    frame = store.Results(results).frame
    found = (
        (key, x)
        for key in plan.papers
        for x in judged(plan, key, frames.read(frame(plan.scale, key)), results, papers)
    )
    return [_row(key, finding) for key, finding in found if not only or {*only} & {*finding.tags}]


def _row(paper: str, finding: Finding) -> dict[str, Any]:
    return {
        **{"paper": paper, "claim": finding.key, "says": finding.claim.text},
        **{"ours": finding.claim.ours, "counts": finding.counts},
        "printed_verdict": finding.printed_mark,
        "printed": say("claims.printed", finding),
        "mark": finding.label.mark,
        "measured": say("claims.label", finding),
        "reason": say("claims.reason", finding),
        "basis": say("claims.basis", finding),
        "tags": list(finding.tags),
        "runs": sorted({run_id for row in finding.rows for run_id in row.runs}),
    }


def judged(plan: Plan, key: str, frame: pd.DataFrame, results: Path, papers: Path) -> list[Finding]:
    """The claims of a paper, by what was collected of its runs and by its printed numbers."""
    printed = printed_numbers(papers, key, plan.asked[key])
    return findings(plan, key, Collected(frame, store.Results(results).runs), printed)


def tidy(paper: str, found: list[Finding]) -> pd.DataFrame:
    """One row per comparison, with the verdicts of its claim.

    `low95` to `high95` is the two-sided 95 % confidence interval, `p` the two-sided p-value. `low`
    and `high` are the bounds that decide, `low_level` and `high_level` their confidence levels, 0
    to 1; `hold_level` and `fail_level` are the levels that a bound needs for the comparison to hold
    and to fail, which depend on how many comparisons the claim makes.
    """
    return pd.DataFrame(
        {"paper": paper, **_of_claim(finding), **_of_row(row)}
        for finding in found
        for row in finding.rows
    )


def _of_claim(finding: Finding) -> dict[str, object]:
    claim = finding.claim
    return {
        **{"claim": finding.key, "kind": claim.kind, "text": claim.text},
        **{"ours": claim.ours, "reading": claim.reading},
        "printed": finding.printed.verdict.value if finding.printed else "",
        "measured": say("claims.label", finding),
        "reason": say("claims.reason", finding),
    }


def _of_row(row: Evidence) -> dict[str, object]:
    nothing = Interval(math.nan, math.nan, math.nan, 0)
    shown, plain = row.interval or nothing, row.plain or nothing
    return {
        **{"cell": row.cell, "comparison": row.label, "unit": row.unit},
        "printed_effect": row.printed,
        "printed_verdict": row.printed_verdict.value if row.printed_verdict else None,
        **{"effect": shown.effect, "low95": plain.low, "high95": plain.high, "p": row.p},
        "as_claimed": row.as_claimed,
        **{"low": shown.low, "high": shown.high},
        **{"low_level": shown.low_level, "high_level": shown.high_level},
        **{"hold_level": 1 - row.error_rates.hold, "fail_level": 1 - row.error_rates.fail},
        "smallest_detectable": row.detectable,
        **{"pairs": shown.pairs, "planned": row.planned},
        "verdict": say("claims.verdict", row),
        "substituted": say("scale.substitutions", row.substituted),
        "note": say("claims.note", row),
        "run_ids": ";".join(row.runs),
    }
