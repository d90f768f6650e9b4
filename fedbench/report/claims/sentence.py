"""Verdicts and effects as sentences."""

import math
from statistics import median

from fedbench.paper.claims import Together
from fedbench.report.claims.finding import Evidence, Finding, Judgement
from fedbench.report.claims.limit import Verdict
from fedbench.report.values.metrics import Metric
from fedbench.report.values.numbers import signed

_DIGITS = {"points": 2, "%": 1, "rounds": 1}
_NAMED = 3  # exceptions that are spelled out


def amount(value: float, unit: str) -> str:
    """An effect with its sign and unit: '+2.10 points'."""
    if unit not in _DIGITS:
        text = f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.3g}"
        return text.replace("-", "−")
    return f"{signed(value, _DIGITS[unit])} {unit}"


def interval(row: Evidence) -> str:
    """'+2.10 points [+0.40, +3.80]'; without an interval the effect alone."""
    if row.found is None or math.isnan(row.found.effect):
        return "–"
    effect = amount(row.found.effect, row.unit)
    if not row.found.is_test:
        return effect
    ends = (
        amount(x, row.unit).removesuffix(f" {row.unit}") for x in (row.found.low, row.found.high)
    )
    return f"{effect} [{', '.join(ends)}]"


def printed(finding: Finding) -> str:
    """The verdict on the printed numbers: 'holds in 17 of 18 printed cells; exception: …'."""
    if finding.printed is None:
        return "not printed"
    judged, words = finding.printed, finding.printed.verdict.value
    if isinstance(finding.claim, Together):
        return f"{words}: {_members(judged)}"
    if len(finding.measured.parts) > 1:
        holds = "" if judged.verdict == Verdict.HOLDS else "holds "
        words += f": {holds}in {_printed_cells(finding, judged)}"
    effects = [row for row in finding.rows if row.printed is not None]
    if len(effects) == 1:
        return f"{words} ({_printed_effect(effects[0])})"
    return "; ".join([words, *_exceptions(finding, judged)])


def _printed_cells(finding: Finding, judged: Judgement) -> str:
    """'17 of 18 printed cells'; 'the 1 printed of 5 cells'."""
    holding, n = len(judged.having(Verdict.HOLDS)), len(judged.parts)
    cells = f"{holding} of {n} printed cell{'' if n == 1 else 's'}"
    silent = len(finding.measured.parts) - n
    return f"{cells}, {silent} not printed" if silent else cells


def _exceptions(finding: Finding, judged: Judgement) -> list[str]:
    failing = judged.having(Verdict.FAILS)
    if not failing:
        return []
    rows = [x for x in finding.rows if x.cell in failing and x.printed_verdict == Verdict.FAILS]
    named = [f"{_where(row)} ({_printed_effect(row)})" for row in rows[:_NAMED]]
    more = [f"{len(rows) - _NAMED} more"] if len(rows) > _NAMED else []
    return [f"exception{'s' if len(rows) > 1 else ''}: {', '.join(named + more)}"]


def _where(row: Evidence) -> str:
    return f"{row.cell}: {row.label}" if row.cell else row.label


def _printed_effect(row: Evidence) -> str:
    return amount(row.printed or 0.0, row.unit) if row.printed else "a tie"


def evidence(finding: Finding) -> str:
    """What the measured verdict rests on: cells, effects, intervals."""
    judged = finding.measured if finding.tested else finding.trend
    if isinstance(finding.claim, Together):
        return _members(judged)
    rows = [row for row in finding.rows if row.found and not math.isnan(row.found.effect)]
    if not rows:
        return "; ".join({row.note: None for row in finding.rows if row.note}) or "no pair of runs"
    cells = "" if len(judged.parts) == 1 else _counts(judged) + "; "
    if len(rows) == 1 and rows[0].found:
        return f"{cells}{interval(rows[0])}, {rows[0].found.pairs} of {rows[0].planned} pairs"
    return f"{cells}{_range(rows)}"


def _range(rows: list[Evidence]) -> str:
    """Of each metric on its own if they have no unit in common: a loss and an accuracy."""
    if len({row.unit or row.metric for row in rows}) == 1:
        return _range_of(rows)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    parts = {name: _range_of([row for row in rows if row.metric == name]) for name in metrics}
    return "; ".join(f"{Metric(name).label}: {text}" for name, text in parts.items())


def _range_of(rows: list[Evidence]) -> str:
    effects = sorted(row.found.effect for row in rows if row.found)
    low, middle, high = (
        amount(x, rows[0].unit) for x in (effects[0], median(effects), effects[-1])
    )
    return f"effects from {low} to {high}, median {middle}"


def _counts(judged: Judgement) -> str:
    """'holds in 3 of 9 cells, undecided in 6'."""
    found = {verdict: len(judged.having(verdict)) for verdict in Verdict}
    known = [(verdict, n) for verdict, n in found.items() if n]
    first = f"{known[0][0].value} in {known[0][1]} of {len(judged.parts)} cells"
    return ", ".join([first, *(f"{verdict.value} in {n}" for verdict, n in known[1:])])


def _members(judged: Judgement) -> str:
    return ", ".join(f"{name} {verdict.value}" for name, verdict in judged.parts)
