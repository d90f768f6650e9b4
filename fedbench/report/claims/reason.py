"""Why a claim has its label: what its runs gave, what they could have shown, what a test lacks."""

import math
from collections.abc import Iterator, Sequence

from fedbench.report.claims.finding import Evidence, Finding, Label
from fedbench.report.claims.interval import FEWEST
from fedbench.report.claims.wording import by_unit, effects_words


def reason_words(finding: Finding) -> str:
    """What the label rests on: effects; what could have been seen; what a test lacks."""
    lacks = {
        Label.UNDECIDED: _could_see(finding),
        Label.NOT_TESTED: "; ".join(_lacks(finding)),
    }
    parts = [lacks.get(finding.label, ""), effects_words(finding), _signs(finding)]
    return "; ".join(filter(None, parts))


def _could_see(finding: Finding) -> str:
    """'3 pairs of runs would show effects above 2.10 points'."""
    rows = [row for row in finding.rows if row.of_paper and not math.isnan(row.detectable)]
    if not rows:
        return ""
    pairs = sorted({row.interval.pairs for row in rows if row.interval})
    number = str(pairs[0]) if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    kinds = {False: "effects above", True: "values equal within"}
    shown = [
        f"{words} {by_unit(of_kind).replace('+', '').replace('±', '')}"
        for margins, words in kinds.items()
        if (of_kind := [row for row in rows if row.detects_margins == margins])
    ]
    return f"{number} pairs of runs would show {' and '.join(shown)}"


def _lacks(finding: Finding) -> Iterator[str]:
    """What a test of the claim lacks."""
    rows = finding.rows
    if finding.claim.wants:
        yield finding.claim.wants
    if finding.unrun:
        runs = {run for row in rows for run in row.runs}
        missing = {run for row in rows for run in row.missing}
        yield f"{len(missing)} of its {len(runs)} runs are missing"
        return
    run = [row for row in rows if row.interval]
    if not run:
        yield from dict.fromkeys(row.note for row in rows)
        return
    if finding.substituted:
        yield f"ran {finding.substituted}"
    yield from dict.fromkeys(row.near_chance for row in run if row.near_chance)
    if late := [row for row in run if row.planned and not row.possible]:
        yield f"{_of(late, rows)} ask for a later round"
    if few := sorted({row.planned for row in run if row.planned < FEWEST}):
        yield f"{few[-1]} seed{'' if few[-1] == 1 else 's'} where a test needs {FEWEST}"
    if left := [row for row in rows if not row.interval]:
        yield f"{_of(left, rows)} are not run"


def _of(some: Sequence[Evidence], rows: Sequence[Evidence]) -> str:
    return f"{len(some)} of {len(rows)} comparisons"


def _signs(finding: Finding) -> str:
    """'as claimed in 5 of 6 comparisons that were run', by the sign of the effect."""
    like, n = finding.signs
    if finding.label in (Label.SUPPORTED, Label.NOT_SUPPORTED) or not n:
        return ""
    if n == 1 and sum(row.plain is not None for row in finding.rows) == 1:
        return "the effect has the claimed sign" if like else "the effect has the opposite sign"
    return f"sign as claimed in {like} of {n} comparisons that were run"
