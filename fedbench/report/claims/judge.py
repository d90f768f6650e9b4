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
from fedbench.report.claims.tests import FEWEST, ErrorRates, Verdict, at_least
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
    named = [(key, numbers.paper.claims[key]) for key in claim.claims]
    singles = ((key, one) for key, one in named if not isinstance(one, Together))
    members = [_finding(numbers, key, one, share) for key, one in singles]

    def joined(verdicts: list[Verdict]) -> Judgement:
        verdict = at_least(claim.least, verdicts)
        parts = tuple(zip([x.claim.text for x in members], verdicts, strict=True))
        return Judgement(verdict.opposite if claim.negate else verdict, parts)

    on_printed = [member.printed.verdict for member in members if member.printed]
    printed = joined(on_printed) if len(on_printed) == len(members) else None
    measured = joined([member.measured.verdict for member in members])
    best = ([v if v in x.could else Verdict.UNDECIDED for x in members] for v in DECIDED)
    could = frozenset(joined(each).verdict for each in best) - {Verdict.UNDECIDED}
    rows = tuple(row for member in members for row in member.rows)
    return Finding(name, claim, printed, measured, rows, could, members=tuple(members))


def _finding(numbers: PaperNumbers, name: str, claim: SingleClaim, whole: ErrorRates) -> Finding:
    tree = expand(f"{numbers.key}: claims.{name}", claim, numbers.paper)
    both = numbers.measured(claim.table, claim.grid), numbers.printed(claim.table, claim.grid)
    shares = dict(tree.error_rates(whole))
    rows = {
        comparison: _evidence(both, cell.label, comparison, shares[comparison])
        for cell in tree.nodes
        for comparison in cell.comparisons()
    }
    known = {c: row.verdict if row.of_paper else Verdict.UNDECIDED for c, row in rows.items()}
    found, could = tree.judge(known), set[Verdict]()
    testable = {c for c, r in rows.items() if r.possible and r.planned >= FEWEST and r.of_paper}
    for verdict in DECIDED:  # if all comparisons that can be tested had it
        all_have = {c: verdict if c in testable else Verdict.UNDECIDED for c in rows}
        could |= {verdict} & {tree.judge(all_have)}
    if claim.wants:  # the numbers alone would decide what no fair test has shown
        found, could = Verdict.UNDECIDED, set()
    judged = Judgement(found, tuple((cell.label, cell.judge(known)) for cell in tree.nodes))
    shown = tuple(rows.values())
    return Finding(name, claim, _printed(tree, rows), judged, shown, frozenset(could))


def _evidence(
    numbers: tuple[MeasuredNumbers, Numbers], cell: str, comparison: Comparison, share: ErrorRates
) -> Evidence:
    (measured, on_paper), points = numbers, comparison.points
    printed = comparison.printed(on_paper)
    sides = [measured.cells(point) for point in points]
    planned, cells = min(map(len, sides)), [*chain.from_iterable(sides)]
    runs, ended = dict.fromkeys(each.run_id for each in cells), measured.collected.states
    limit, estimate = comparison.limit, comparison.measured(measured)
    rates, effect = limit.rates(share), estimate.effect
    void = Void.SAME_RUNS if comparison.is_of_one_run(measured) else measured.near_chance(points)
    orders = limit.low == 0 and not comparison.constant  # says no more than which side is better
    has_sign = orders and math.isfinite(effect) and effect != 0
    return Evidence(
        cell=cell,
        label=comparison.label,
        metric=str(points[0]["metric"]),
        unit=comparison.unit,
        printed=printed,
        printed_verdict=None if printed is None else DECIDED[not limit.allows(printed)],
        test=comparison.test,
        error_rates=rates.swapped if limit.denied else rates,
        interval=limit.interval(estimate, share),
        plain=estimate.interval(0.025, 0.025),
        p=math.nan if limit.is_margin else estimate.p_value(limit.low),
        detectable=limit.detectable(estimate, share),
        detects_margins=limit.is_margin and not limit.denied,
        marks=tuple(filter(math.isfinite, (limit.low, limit.high))),
        verdict=limit.verdict(estimate, share),
        as_claimed=limit.allows(effect) if has_sign and not void else None,
        planned=planned,
        substituted=merged(each.substituted for each in cells),
        void=void,
        too_late=any(map(measured.too_late, points)),
        kept=measured.kept,
        diverged=sum(map(measured.collected.diverged, runs)),
        at_chance=measured.at_chance(points),
        runs=tuple(runs),
        missing=tuple(run for run in runs if run not in ended),
    )


def _printed(tree: Node, rows: dict[Comparison, Evidence]) -> Judgement | None:
    """The verdict on the printed numbers; None if no cell has any.

    'Every' and 'any' mean the cells with a printed number only; where a claim names a number of
    cells, those without one count as undecided.
    """
    known = {c: row.printed_verdict or Verdict.UNDECIDED for c, row in rows.items()}
    cells = [x for x in tree.nodes if any(rows[c].printed_verdict for c in x.comparisons())]
    if not cells:
        return None
    verdicts, n = [cell.judge(known) for cell in cells], len(tree.parts)
    parts = tuple(zip([cell.label for cell in cells], verdicts, strict=True))
    silent = 0 if tree.k in (1, n) else n - len(cells)
    k = len(cells) if tree.k == n else tree.k
    return Judgement(at_least(k, verdicts + silent * [Verdict.UNDECIDED]), parts)
