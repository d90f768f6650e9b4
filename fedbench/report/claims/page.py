"""The claims as a paper's page, its CSV file and the command `fedbench claims` show them."""

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import Any

import pandas as pd

from fedbench import store
from fedbench.base.errors import require_among
from fedbench.base.grouping import grouped
from fedbench.base.plugins import find_file
from fedbench.paper.printed_numbers import printed_numbers
from fedbench.plan.plan import Plan
from fedbench.report.claims.finding import Evidence, Finding, Label
from fedbench.report.claims.judge import findings
from fedbench.report.template_words import say
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Collected
from fedbench.report.values.numbers import amount

# Words for a count of claims, by their tags: verdicts on printed numbers, on the runs here, and
# on these if a sentence is read as we do.
FILTERS = {
    "printed-holds": "hold", "printed-fails": "fail",
    "printed-undecided": "undecided", "printed-none": "no verdict",
    **{f"here-{label.mark}": label.value for label in Label},
    **{f"reading-{x.mark}": x.value for x in Label if x is not Label.NOT_TESTED},
}  # fmt: skip


def verdicts(
    plan: Plan, results: Path, papers: Path, only: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row per claim, in words, with its tags of `FILTERS`; `only` claims with one of these."""
    for word in only:
        require_among("", "verdict", word, FILTERS)
    found = []
    for key in plan.papers:
        frame = collected_frames.read(store.Results(results).frame(plan.scale, key))
        for finding in judged(plan, key, frame, results, papers):
            row = {
                **{"paper": key, "claim": finding.key, "says": finding.claim.text},
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
            found += [row] if not only or {*only} & {*finding.tags} else []
    return found


def judged(plan: Plan, key: str, frame: pd.DataFrame, results: Path, papers: Path) -> list[Finding]:
    """The claims of a paper, by what was collected of its runs and by its printed numbers."""
    printed = printed_numbers(find_file(papers, f"{key}.yaml"), plan.asked[key])
    return findings(plan, key, Collected(frame, store.Results(results).runs), printed)


def tidy(paper: str, found: list[Finding]) -> pd.DataFrame:
    """One row per comparison, with its claim's verdicts; docs/howto/results.md has the columns."""
    rows = []
    for finding in found:
        claim = finding.claim
        told = {
            **{"paper": paper, "claim": finding.key, "kind": claim.kind, "text": claim.text},
            **{"ours": claim.ours, "reading": claim.reading},
            "printed": finding.printed.verdict.value if finding.printed else "",
            "measured": say("claims.label", finding),
            "reason": say("claims.reason", finding),
        }
        for row in finding.rows:
            shown, plain, rates = row.interval, row.plain, row.error_rates
            of_row = {
                **{"cell": row.cell, "comparison": row.label, "unit": row.unit},
                "printed_effect": row.printed,
                "printed_verdict": row.printed_verdict.value if row.printed_verdict else None,
                **{"effect": shown.effect, "low95": plain.low, "high95": plain.high, "p": row.p},
                "as_claimed": row.as_claimed,
                **{"low": shown.low, "high": shown.high},
                **{"low_level": shown.low_level, "high_level": shown.high_level},
                **{"hold_level": 1 - rates.hold, "fail_level": 1 - rates.fail},
                "smallest_detectable": row.detectable,
                **{"pairs": shown.pairs, "planned": row.planned},
                "verdict": say("claims.verdict", row),
                "substituted": say("scale.substitutions", row.substituted),
                "note": say("claims.note", row),
                "run_ids": ";".join(row.runs),
            }
            rows.append(told | of_row)
    return pd.DataFrame(rows)


_WIDTH = 304.0
_MARGIN, _FOOT, _ROOM = 6.0, 14.0, 200.0  # of the sides, of the scale's numbers, of all lines
_THINNEST, _THICKEST = 4.0, 11.0  # the height that a comparison's line takes
_HEAD, _LEGIBLE = 11.0, 8.5  # of the words above; the height of a line that has room for a name
_NAMES, _LETTERS = 128.0, 26  # the width of names, and how many letters of each it holds


def plots(rows: Sequence[Evidence]) -> list[dict[str, Any]]:
    """One picture per unit of those comparisons that have a printed or a measured effect."""
    seen = [row for row in rows if _effects(row)]
    return [_plot(alike) for alike in grouped(seen, lambda row: row.unit or row.metric).values()]


def _effects(row: Evidence) -> list[float]:
    return [x for x in (row.printed, row.effect) if x is not None and isfinite(x)]


def _bounds(row: Evidence) -> list[float]:
    return [row.plain.low, row.plain.high] if row.plain.is_test else []


def _ends(rows: Sequence[Evidence]) -> tuple[float, float]:
    """All effects, marks and zero; bounds as far as they leave room to tell the effects apart."""
    inner = [0.0, *(x for row in rows for x in (*_effects(row), *row.marks))]
    low, high = min(inner), max(inner)
    room = (high - low) or 1.0
    outer = [x for row in rows for x in _bounds(row)]
    low, high = max(min([low, *outer]), low - room), min(max([high, *outer]), high + room)
    low, high = (low, high) if low < high else (low - room, high + room)
    step = 10 ** floor(log10(high - low)) / 2
    return floor(low / step) * step, ceil(high / step) * step


def _plot(rows: Sequence[Evidence]) -> dict[str, Any]:
    (low, high), n = _ends(rows), len(rows)
    step = min(_THICKEST, max(_THINNEST, _ROOM / n))
    names = [""] * n
    if step >= _LEGIBLE:  # by what the comparisons differ: their cells, their sides, or both
        several = len({row.cell for row in rows}) > 1, len({row.label for row in rows}) > 1
        told = [(row.cell * several[0], row.label * several[1]) for row in rows]
        whole = [": ".join(filter(None, each)) for each in told]
        names = [x if len(x) <= _LETTERS else f"{x[: _LETTERS - 1].rstrip()}…" for x in whole]
    left = _NAMES if any(names) else _MARGIN

    def place(x: float) -> float:
        share = (min(max(x, low), high) - low) / (high - low)
        return round(left + share * (_WIDTH - _MARGIN - left), 1)

    lines = []
    for i, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = round(_HEAD + step * (i + 0.5) + 2, 1)
        said = f"{say('claims.interval', row)}, {say('claims.verdict', row)}"
        title = ": ".join(filter(None, (row.cell, row.label, said)))
        look = row.verdict.value if row.of_paper else "faint undecided"
        low_at, high_at = _bounds(row) or (None, None)
        at = {"low": low_at, "high": high_at, "effect": row.effect, "printed": row.printed}
        placed = {k: None if x is None or not isfinite(x) else place(x) for k, x in at.items()}
        lines.append({"y": y, "look": look, "title": title, "name": name, **placed})
    marks = dict.fromkeys(place(x) for row in rows for x in row.marks if x)
    ends = (amount(low, rows[0].unit), amount(high, rows[0].unit))
    what = f"{n} comparison{'' if n == 1 else 's'} of {rows[0].metric}"
    height = round(_HEAD + step * n + 4 + _FOOT, 1)
    return {
        **{"height": height, "left": left, "lines": lines, "zero": place(0.0), "marks": [*marks]},
        # of a comparison that is denied, or says that values are equal, no side is the claim's
        "sided": all(len(x.marks) == 1 and not x.label.startswith("not: ") for x in rows),
        **{"ends": ends, "about": f"{what}, from {ends[0]} to {ends[1]}"},
    }
