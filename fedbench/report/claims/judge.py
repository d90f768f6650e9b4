"""Judges a paper's claims: one verdict per claim from the comparisons that it makes."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

from fedbench.paper.claims import SingleClaim, Together
from fedbench.paper.grid_points import merged
from fedbench.paper.printed_numbers import Printed
from fedbench.plan.plan import Plan
from fedbench.report.claims.comparison_tree import Node, expand
from fedbench.report.claims.comparisons import Comparison
from fedbench.report.claims.evidence import MeasuredNumbers, PrintedNumbers
from fedbench.report.claims.finding import Evidence, Finding, Judgement, Void
from fedbench.report.claims.tests import FEWEST, ErrorRates, Verdict, at_least
from fedbench.report.values.collected_frames import Collected

DECIDED = (Verdict.HOLDS, Verdict.FAILS)
ERROR_RATES = ErrorRates(0.025, 0.025)  # of a claim: each has half of a two-sided test's 5 %
Both = tuple[MeasuredNumbers, PrintedNumbers]


def findings(plan: Plan, key: str, collected: Collected, printed: Printed) -> list[Finding]:
    """The verdicts on all claims of a paper; without runs, on their printed numbers alone."""
    paper = plan.asked[key]
    measured = cache(partial(MeasuredNumbers, plan, key, collected))
    on_paper = cache(partial(PrintedNumbers, paper, printed))

    def judged(name: str, whole: ErrorRates) -> Finding:
        claim = paper.claims[name]
        if isinstance(claim, Together):  # those that it joins share its error rates
            rates = whole.swapped if claim.negate else whole
            share = rates.each(claim.least, len(claim.claims))
            return _joined(name, claim, [judged(member, share) for member in claim.claims])
        tree = expand(f"{key}: claims.{name}", claim, paper)
        both = measured(claim.table, claim.grid), on_paper(claim.table, claim.grid)
        return _single(name, claim, tree, both, whole)

    alternatives = [x for x in paper.claims.values() if isinstance(x, Together) and x.need == "one"]
    readings = {name for claim in alternatives for name in claim.claims}
    found = [judged(name, ERROR_RATES) for name in paper.claims]
    return [replace(each, counts=each.key not in readings) for each in found]


def _joined(name: str, claim: Together, members: Sequence[Finding]) -> Finding:
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


def _single(name: str, claim: SingleClaim, tree: Node, both: Both, whole: ErrorRates) -> Finding:
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


def _evidence(numbers: Both, cell: str, comparison: Comparison, share: ErrorRates) -> Evidence:
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
    """The verdict on the printed numbers; None if no cell has any."""
    known = {c: row.printed_verdict or Verdict.UNDECIDED for c, row in rows.items()}
    cells = [x for x in tree.nodes if any(rows[c].printed_verdict for c in x.comparisons())]
    if not cells:
        return None
    verdicts, n = [cell.judge(known) for cell in cells], len(tree.parts)
    parts = tuple(zip([cell.label for cell in cells], verdicts, strict=True))
    # 'every' and 'any' mean cells with a printed number; of a number, others count as undecided
    silent = 0 if tree.k in (1, n) else n - len(cells)
    k = len(cells) if tree.k == n else tree.k
    return Judgement(at_least(k, verdicts + silent * [Verdict.UNDECIDED]), parts)
