"""What a measured verdict rests on, in words: the test, its levels, what it could have shown."""

import math
from statistics import median

from fedbench.paper.claims import Equal
from fedbench.report.claims.finding import Evidence, Finding
from fedbench.report.claims.sentence import amount


def basis(finding: Finding) -> str:
    """How the measured verdict was reached, and what so many seeds could have shown."""
    if not any(row.found and row.found.is_test for row in finding.rows):
        return ""
    n, names = len(finding.rows), dict.fromkeys(row.test for row in finding.rows)
    hold = _coverage([row.risks.hold for row in finding.rows])
    fail = _coverage([row.risks.fail for row in finding.rows])
    parts = [
        f"{' and '.join(names)}, one-sided, {n} comparison{'' if n == 1 else 's'}: bounds at "
        f"{hold} to hold, at {fail} to fail",
        *_constant(finding),
        *_detectable(finding),
    ]
    return "; ".join(parts)


def _coverage(risks: list[float]) -> str:
    """'95 %', or '95 to 97.5 %' where comparisons differ; four decimals above 99.9 %."""
    shown = (f"{100 * (1 - x):.{2 if x >= 0.001 else 4}f}" for x in sorted(risks, reverse=True))
    texts = list(dict.fromkeys(x.rstrip("0").rstrip(".") for x in shown))
    return f"{texts[0]} %" if len(texts) == 1 else f"{texts[0]} to {texts[-1]} %"


def _constant(finding: Finding) -> list[str]:
    """How many comparisons were not tested, as nothing varies."""
    n = sum(row.found.is_constant for row in finding.rows if row.found)
    return [f"{n} without spread, judged as {'it is' if n == 1 else 'they are'}"] if n else []


def _detectable(finding: Finding) -> list[str]:
    """The smallest true effect, or margin, of each unit: 'median +2.1 points (+1.2 to +4.0)'."""
    rows = [row for row in finding.rows if not math.isnan(row.detectable)]
    if not rows:
        return []
    what = "margin" if isinstance(finding.claim, Equal) and not finding.claim.negate else "effect"
    units = dict.fromkeys(row.unit or row.metric for row in rows)
    found = [_smallest([row for row in rows if (row.unit or row.metric) == x]) for x in units]
    return [f"smallest true {what} shown with 80 % probability: {', '.join(found)}"]


def _smallest(rows: list[Evidence]) -> str:
    sizes = sorted(row.detectable for row in rows)
    low, middle, high = (amount(x, rows[0].unit) for x in (sizes[0], median(sizes), sizes[-1]))
    return middle if low == high else f"{middle} in the median ({low} to {high})"
