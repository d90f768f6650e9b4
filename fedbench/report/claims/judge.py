"""Judges a paper's claims: carries out their comparisons and draws one verdict per claim from them.

`Limit` says how a single comparison is decided, `expand` how many of them must hold.
"""

import math
from dataclasses import replace
from itertools import chain

from fedbench.paper.claims import Claim, SingleClaim, Together
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed
from fedbench.plan.substitutions import merged
from fedbench.report.claims.comparisons import Comparison
from fedbench.report.claims.evidence import MeasuredNumbers, Numbers, PaperNumbers
from fedbench.report.claims.expand import Node, expand
from fedbench.report.claims.finding import Evidence, Finding, Judgement, Void
from fedbench.report.claims.tests import ErrorRates, Verdict, at_least
from fedbench.report.values.frames import Collected

DECIDED = (Verdict.HOLDS, Verdict.FAILS)
ERROR_RATES = ErrorRates(0.025, 0.025)  # of a claim: that it holds wrongly, and fails wrongly


def findings(plan: Plan, key: str, collected: Collected, printed: Printed) -> list[Finding]:
    """The verdicts on the claims of the paper `key`, in the order of its file.

    Those of which the scale has no run are among them: their printed numbers are judged.
    """
    claims = plan.asked[key].claims
    numbers = PaperNumbers(plan, key, collected, printed)
    joined = [c for c in claims.values() if isinstance(c, Together) and c.need == "one"]
    readings = {name for claim in joined for name in claim.claims}
    found = [_of(numbers, name, claim) for name, claim in claims.items()]
    return [replace(each, counts=each.key not in readings) for each in found]


def _of(numbers: PaperNumbers, name: str, claim: Claim) -> Finding:
    """The verdicts on a claim; those that it joins are judged anew, at a share of its errors."""
    if not isinstance(claim, Together):
        return _finding(numbers, name, claim, ERROR_RATES)
    whole = ERROR_RATES.swapped if claim.negate else ERROR_RATES
    share = whole.each(claim.least, len(claim.claims))
    claims = numbers.plan.asked[numbers.key].claims
    members = ((key, claims[key]) for key in claim.claims)
    singles = ((key, one) for key, one in members if not isinstance(one, Together))
    return _together(name, claim, [_finding(numbers, key, one, share) for key, one in singles])


def _finding(numbers: PaperNumbers, name: str, claim: SingleClaim, whole: ErrorRates) -> Finding:
    paper = numbers.plan.asked[numbers.key]
    tree = expand(f"{numbers.key}: claims.{name}", claim, paper)
    both = numbers.measured_for(claim), numbers.printed_for(claim)
    share = dict(tree.error_rates(whole))
    rows = {
        c: _evidence(both, cell.label, c, share[c])
        for cell in tree.nodes
        for c in cell.comparisons()
    }
    known = {c: row.verdict if row.of_paper else Verdict.UNDECIDED for c, row in rows.items()}
    judged = _judge(tree, known)
    could = frozenset(  # the verdicts if all comparisons that can be tested had them
        verdict
        for verdict in DECIDED
        for of in [{c: verdict if r.testable else Verdict.UNDECIDED for c, r in rows.items()}]
        if _judge(tree, of).verdict == verdict
    )
    if claim.wants:  # the numbers alone would decide what no fair test has shown
        judged, could = replace(judged, verdict=Verdict.UNDECIDED), frozenset()
    return Finding(name, claim, _printed(tree, rows), judged, tuple(rows.values()), could)


def _evidence(
    numbers: tuple[MeasuredNumbers, Numbers], cell: str, comparison: Comparison, share: ErrorRates
) -> Evidence:
    (measured, on_paper), points = numbers, comparison.points
    printed = comparison.printed(on_paper)
    sides = [measured.cells(point) for point in points]
    planned, cells = min(map(len, sides)), [*chain.from_iterable(sides)]
    runs = tuple(dict.fromkeys(each.run_id for each in cells))
    limit, estimate = comparison.limit, comparison.measured(measured)
    of_one_run = comparison.is_of_one_run(measured.read_at)
    void = Void.SAME_RUNS if of_one_run else measured.near_chance(points)
    return Evidence(
        cell=cell,
        label=comparison.label,
        metric=str(points[0]["metric"]),
        unit=comparison.unit,
        printed=printed,
        printed_verdict=None if printed is None else DECIDED[not limit.allows(printed)],
        test=comparison.test,
        error_rates=limit.of_each_bound(share),
        interval=limit.interval(estimate, share),
        plain=estimate.plain,
        p=limit.p_value(estimate),
        detectable=limit.detectable(estimate, share),
        detects_margins=limit.detects_margins,
        marks=limit.marks,
        verdict=limit.verdict(estimate, share),
        as_claimed=None if void else _as_claimed(comparison, estimate.effect),
        planned=planned,
        substituted=merged(each.substituted for each in cells),
        void=void,
        too_late=any(map(measured.too_late, points)),
        kept=measured.kept,
        diverged=measured.diverged(points),
        at_chance=measured.at_chance(points),
        runs=runs,
        missing=tuple(run for run in runs if not measured.collected(run)),
    )


def _as_claimed(comparison: Comparison, effect: float) -> bool | None:
    """Whether the effect has the claimed sign; None without an effect, or if no sign is claimed."""
    claimed = comparison.orders and math.isfinite(effect) and effect
    return comparison.limit.allows(effect) if claimed else None


def _judge(tree: Node, verdicts: dict[Comparison, Verdict]) -> Judgement:
    parts = tuple((cell.label, cell.judge(verdicts.__getitem__)) for cell in tree.nodes)
    return Judgement(at_least(tree.k, [verdict for _, verdict in parts]), parts)


def _printed(tree: Node, rows: dict[Comparison, Evidence]) -> Judgement | None:
    """The verdict on the printed numbers; None if no cell has any.

    'Every' and 'any' mean the cells with a printed number only; where a claim names a number of
    cells, those without one count as undecided.
    """
    verdict_of = {c: row.printed_verdict for c, row in rows.items()}
    cells = tuple(cell for cell in tree.nodes if any(verdict_of[c] for c in cell.comparisons()))
    if not cells:
        return None
    judged = _judge(Node(1, cells), {c: v or Verdict.UNDECIDED for c, v in verdict_of.items()})
    verdicts, n = [verdict for _, verdict in judged.parts], len(tree.parts)
    silent = 0 if tree.k in (1, n) else n - len(cells)
    k = len(cells) if tree.k == n else tree.k
    return Judgement(at_least(k, verdicts + silent * [Verdict.UNDECIDED]), judged.parts)


def _together(name: str, claim: Together, members: list[Finding]) -> Finding:
    """The claim that all of its members hold, or one; its comparisons are those of the members."""
    on_printed = [member.printed.verdict for member in members if member.printed]
    printed = _joined(members, on_printed, claim) if len(on_printed) == len(members) else None
    rows = tuple(row for member in members for row in member.rows)
    measured = _joined(members, [member.measured.verdict for member in members], claim)
    best = ([v if v in x.could else Verdict.UNDECIDED for x in members] for v in DECIDED)
    could = frozenset(_joined(members, each, claim).verdict for each in best)
    could -= {Verdict.UNDECIDED}
    return Finding(name, claim, printed, measured, rows, could, members=tuple(members))


def _joined(members: list[Finding], verdicts: list[Verdict], claim: Together) -> Judgement:
    """The verdict on claims that are joined; its parts are named by their texts."""
    verdict = at_least(claim.least, verdicts)
    parts = tuple(zip([x.claim.text for x in members], verdicts, strict=True))
    return Judgement(verdict.opposite if claim.negate else verdict, parts)
