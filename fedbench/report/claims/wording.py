"""Claims in words: the verdict, the effects behind it, and how the verdict was reached."""

import math
from collections.abc import Mapping
from statistics import median

from fedbench.paper.claims import Together
from fedbench.paper.metrics import Metric
from fedbench.report.claims.finding import Evidence, Finding, Judgement, Label
from fedbench.report.claims.interval import Interval
from fedbench.report.claims.limits import Verdict
from fedbench.report.values.numbers import signed

Said = Mapping[Verdict, str]  # a verdict → how it is called
_VERDICTS: Said = {verdict: verdict.value for verdict in Verdict}
_MEASURED: Said = {
    Verdict.HOLDS: Label.SUPPORTED.value,
    Verdict.FAILS: Label.NOT_SUPPORTED.value,
    Verdict.UNDECIDED: Label.UNDECIDED.value,
}
_DIGITS = {"points": 2, "%": 1, "rounds": 1}
_NAMED = 3  # exceptions that are spelled out


def amount(value: float, unit: str) -> str:
    """An effect with its sign and unit: '+2.10 points'."""
    if not math.isfinite(value):
        return "not finite"
    if unit not in _DIGITS:
        text = f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.3g}"
        return f"{text.replace('-', '−')} {unit}".rstrip()
    return f"{signed(value, _DIGITS[unit])} {unit}"


def interval_words(row: Evidence) -> str:
    """'+2.10 points [+0.40, +3.80], p = 0.03': the 95 % confidence interval and the p-value.

    Without a test the effect alone.
    """
    interval = row.plain
    if interval is None or math.isnan(interval.effect):
        return "–"
    effect = amount(interval.effect, row.unit)
    if not interval.is_test:
        return effect
    p = "" if math.isnan(row.p) else f", p = {max(row.p, 1e-4):.2g}"
    return f"{effect} {_ends(interval, row.unit)}{p}"


def bounds_words(row: Evidence) -> str:
    """The bounds that decide: '[−0.10, +4.30]'; a dash without a test."""
    tests = row.interval is not None and row.interval.is_test
    return _ends(row.interval, row.unit) if row.interval and tests else "–"


def _ends(interval: Interval, unit: str) -> str:
    ends = (amount(x, unit).removesuffix(f" {unit}") for x in (interval.low, interval.high))
    return f"[{', '.join(ends)}]"


def printed_words(finding: Finding) -> str:
    """The verdict on the printed numbers: 'holds: in 17 of 18 printed cells; exception: …'."""
    if finding.printed is None:
        return "not printed"
    judged, words = finding.printed, finding.printed.verdict.value
    if isinstance(finding.claim, Together):
        return f"{words}: {_members(judged, _VERDICTS)}"
    if len(finding.measured.parts) > 1:
        holds = "" if judged.verdict == Verdict.HOLDS else "holds "
        words += f": {holds}in {_printed_cells(finding, judged)}"
    effects = [row for row in finding.rows if row.printed is not None]
    if len(effects) == 1:
        failing = judged.verdict == Verdict.FAILS
        claimed = _claimed(effects[0], negated=finding.claim.negate) if failing else ""
        return f"{words} ({_printed_effect(effects[0])}{claimed})"
    some = finding.claim.cells == 1  # one cell is enough, so that others are no exceptions
    return "; ".join([words, *([] if some else _exceptions(finding, judged))])


def _printed_cells(finding: Finding, judged: Judgement) -> str:
    """'17 of 18 printed cells'; '1 of 1 printed cell, 4 not printed'."""
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


def effects_words(finding: Finding) -> str:
    """Cells, effects and intervals."""
    judged = finding.measured
    if isinstance(finding.claim, Together):
        return _members(judged, _MEASURED) if finding.tested else ""
    measured = [row for row in finding.rows if row.plain and not math.isnan(row.plain.effect)]
    if not measured:
        return ""
    cells = ""
    if finding.tested and len(judged.parts) > 1:
        cells = _counts(finding, judged) + "; "
        measured = [row for row in measured if not row.near_chance] or measured
    if len(measured) == 1:
        row = measured[0]
        claimed = _claimed(row, negated=finding.claim.negate)
        return f"{cells}{interval_words(row)}{claimed}, {_pairs(row)}"
    return f"{cells}{_range(measured)}"


def _claimed(row: Evidence, *, negated: bool) -> str:
    """The size that is claimed, where one is: ' where more than +15.0 % is claimed'."""
    sizes = [amount(abs(x) if len(row.marks) > 1 else x, row.unit) for x in row.marks if x]
    if not sizes:
        return ""
    if len(sizes) > 1:  # the two ends of a margin
        words = "more" if negated else "less"
        return f" where {words} than {sizes[0].lstrip('+')} up or down is claimed"
    return f" where {'not more' if negated else 'more'} than {sizes[0]} is claimed"


def _pairs(row: Evidence) -> str:
    """'from all 5 pairs', 'from 2 of 3 planned pairs'; 'runs' where each run stands alone."""
    number = row.interval.pairs if row.interval else 0
    planned, what = row.planned, "pair" if len(row.runs) > row.planned else "run"
    if number < planned:
        return f"from {number} of {planned} planned {what}s"
    return f"from all {planned} {what}s" if planned > 1 else f"from 1 {what}"


def _range(rows: list[Evidence]) -> str:
    """Metric by metric if they have no unit in common, such as a loss and an accuracy."""
    if len({row.unit or row.metric for row in rows}) == 1:
        return _range_of(rows)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    parts = {name: _range_of([row for row in rows if row.metric == name]) for name in metrics}
    return "; ".join(f"{Metric(name).label}: {text}" for name, text in parts.items())


def _range_of(rows: list[Evidence]) -> str:
    effects = sorted(row.interval.effect for row in rows if row.interval)
    low, middle, high = (
        amount(x, rows[0].unit) for x in (effects[0], median(effects), effects[-1])
    )
    return f"effects from {low} to {high}, median {middle}"


def _counts(finding: Finding, judged: Judgement) -> str:
    """'supported in 3 of 9 cells, undecided in 6'.

    Cells that this scale does not run, or where chance alone is compared, stand apart: 'undecided
    in 2 of 2 cells, 4 more left out'.
    """
    run = {row.cell for row in finding.rows if row.interval}
    sure = {row.cell for row in finding.rows if row.interval and not row.near_chance}
    compared = sure or run
    verdicts = [verdict for name, verdict in judged.parts if name in compared]
    counts = [(verdict, verdicts.count(verdict)) for verdict in Verdict]
    (first, number), *others = [(_MEASURED[verdict], n) for verdict, n in counts if n]
    start = f"{first} in {number} of {len(verdicts)} cell{'' if len(verdicts) == 1 else 's'}"
    rest = [(len(run - compared), "more near chance")]
    rest += [(len({name for name, _ in judged.parts} - run), "more left out")]
    apart = [f"{n} {words}" for n, words in rest if n]
    return ", ".join([start, *(f"{words} in {n}" for words, n in others), *apart])


def _members(judged: Judgement, said: Said) -> str:
    """'“A beats B (Fig. 1)” holds; “A is stable” undecided': texts without what follows a ';'."""
    texts = [(name.partition(";")[0].rstrip("."), verdict) for name, verdict in judged.parts]
    return "; ".join(f"“{text}” {said[verdict]}" for text, verdict in texts)


def basis(finding: Finding) -> str:
    """How the measured verdict was reached: the test, its levels, what it could have shown.

    Empty where nothing was tested.
    """
    tests = any(row.interval and row.interval.is_test for row in finding.rows)
    if not (tests and finding.tested):
        return ""
    n, names = len(finding.rows), dict.fromkeys(row.test for row in finding.rows)
    hold = _levels([row.risks.hold for row in finding.rows])
    fail = _levels([row.risks.fail for row in finding.rows])
    parts = [
        f"{' and '.join(names)}, one-sided, {n} comparison{'' if n == 1 else 's'}: confidence "
        f"{hold} to hold, {fail} to fail",
        *_constant(finding),
        *_detectable(finding),
    ]
    return "; ".join(parts)


def _levels(risks: list[float]) -> str:
    """'95 %', or '95 to 97.5 %' where comparisons differ; four decimals above 99.9 %."""
    shown = (f"{100 * (1 - x):.{2 if x >= 0.001 else 4}f}" for x in sorted(risks, reverse=True))
    texts = list(dict.fromkeys(x.rstrip("0").rstrip(".") for x in shown))
    return f"{texts[0]} %" if len(texts) == 1 else f"{texts[0]} to {texts[-1]} %"


def _constant(finding: Finding) -> list[str]:
    """How many comparisons were not tested because nothing varies."""
    n = sum(row.interval.is_constant for row in finding.rows if row.interval)
    if not n:
        return []
    why = "it is" if n == 1 else "they are"
    return [f"{n} decided without a test, as {why} the same in every pair"]


def _detectable(finding: Finding) -> list[str]:
    """The smallest true effect, and margin, in each unit: '+2.1 points in the median (…)'."""
    rows = [row for row in finding.rows if not math.isnan(row.detectable)]
    effects = [row for row in rows if not row.detects_margins]
    margins = [row for row in rows if row.detects_margins]
    return [
        f"smallest true {what} that would be shown with a probability of 80 %: {by_unit(of_kind)}"
        for what, of_kind in (("effect", effects), ("margin", margins))
        if of_kind
    ]


def by_unit(rows: list[Evidence]) -> str:
    """The smallest effects or margins that would be shown, in each unit."""
    units = dict.fromkeys(row.unit or row.metric for row in rows)
    return ", ".join(_smallest([x for x in rows if (x.unit or x.metric) == unit]) for unit in units)


def _smallest(rows: list[Evidence]) -> str:
    sizes = sorted(row.detectable for row in rows)
    low, middle, high = (_size(x, rows[0]) for x in (sizes[0], median(sizes), sizes[-1]))
    return middle if low == high else f"{middle} in the median ({low} to {high})"


def detectable_words(row: Evidence) -> str:
    """The smallest effect that would be shown, '+2.10 points', or margin, '±2.10 points'."""
    return "–" if math.isnan(row.detectable) else _size(row.detectable, row)


def _size(value: float, of: Evidence) -> str:
    words = amount(value, of.unit)
    return words.replace("+", "±") if of.detects_margins else words
