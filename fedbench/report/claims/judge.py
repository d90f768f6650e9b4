"""A paper's claims, judged on its printed numbers and on what was measured."""

from fedbench.claim import Comparison, Together
from fedbench.plan import Plan
from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.evidence import Bench, Evidence
from fedbench.report.claims.finding import Finding, Judgement
from fedbench.report.claims.interval import FEWEST
from fedbench.report.claims.outline import outline
from fedbench.report.claims.sources import Sources
from fedbench.report.claims.tree import Node
from fedbench.report.claims.verdict import Verdict, at_least
from fedbench.report.panel import Results
from fedbench.report.printed import Printed

RISK = 0.05  # of a wrong verdict, over all comparisons of a claim


def findings(plan: Plan, key: str, results: Results, printed: Printed) -> list[Finding]:
    """The verdicts on a paper's claims, in the file's order.

    The intervals of a claim cover 1 − 0.05 / n each, where n of its comparisons have three pairs or
    more: Bonferroni.
    """
    claims = plan.papers[key].claims
    sources = Sources(plan, key, results, printed)
    found = {
        name: _finding(sources, name, claim)
        for name, claim in claims.items()
        if not isinstance(claim, Together)
    }
    found |= {
        name: _together(name, claim, [found[member] for member in claim.claims])
        for name, claim in claims.items()
        if isinstance(claim, Together)
    }
    return [found[name] for name in claims]


def _finding(sources: Sources, name: str, claim: Comparison) -> Finding:
    paper = sources.plan.papers[sources.key]
    tree = outline(f"{sources.key}: claims.{name}", claim, paper)
    measured = sources.measured(claim)
    tested = sum(contrast.pairs(measured) >= FEWEST for contrast in tree.contrasts())
    level = 1 - RISK / max(tested, 1)
    bench = Bench(measured, sources.quoted(claim), level)
    rows = {c: bench.evidence(cell.label, c) for cell in tree.nodes for c in cell.contrasts()}
    judged = _judge(tree, {c: row.own_verdict for c, row in rows.items()})
    trend = _judge(tree, {c: row.verdict for c, row in rows.items()})
    return Finding(name, claim, _printed(tree, rows), judged, trend, level, tuple(rows.values()))


def _judge(tree: Node, verdicts: dict[Contrast, Verdict]) -> Judgement:
    parts = tuple((cell.label, cell.judge(verdicts.__getitem__)) for cell in tree.nodes)
    return Judgement(at_least(tree.k, [verdict for _, verdict in parts]), parts)


def _printed(tree: Node, rows: dict[Contrast, Evidence]) -> Judgement | None:
    """On the cells of which anything is printed; what is not printed of them stays undecided."""
    known = {c: row.printed_verdict for c, row in rows.items()}
    cells = tuple(cell for cell in tree.nodes if any(known[c] for c in cell.contrasts()))
    if not cells:
        return None
    k = len(cells) if tree.k == len(tree.parts) else tree.k
    return _judge(Node(k, cells), {c: v or Verdict.UNDECIDED for c, v in known.items()})


def _together(name: str, claim: Together, members: list[Finding]) -> Finding:
    """All of them; intervals are those of each."""
    known = [x.printed.verdict for x in members if x.printed]
    printed = _all(claim, known) if len(known) == len(members) else None
    rows = tuple(row for member in members for row in member.rows)
    measured = _all(claim, [x.measured.verdict for x in members])
    trend = _all(claim, [x.trend.verdict for x in members])
    return Finding(name, claim, printed, measured, trend, members[0].level, rows)


def _all(claim: Together, verdicts: list[Verdict]) -> Judgement:
    found = at_least(len(verdicts), verdicts)
    parts = tuple(zip(claim.claims, verdicts, strict=True))
    return Judgement(found.opposite if claim.negate else found, parts)
