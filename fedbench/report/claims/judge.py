"""A paper's claims, judged on its printed numbers and on what was measured."""

from fedbench.paper.claims import Claim, Comparison, Together
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed
from fedbench.report.claims.contrast import Contrast
from fedbench.report.claims.finding import Bench, Evidence, Finding, Judgement
from fedbench.report.claims.limit import Risks, Verdict, at_least
from fedbench.report.claims.outline import outline
from fedbench.report.claims.quoted import Sources
from fedbench.report.claims.tree import Node
from fedbench.report.values.frames import Results

RISKS = Risks(0.05, 0.05)  # of a claim: that it holds wrongly, and that it fails wrongly


def findings(plan: Plan, key: str, results: Results, printed: Printed) -> list[Finding]:
    """The verdicts on a paper's claims, in the file's order."""
    claims = plan.papers[key].claims
    sources = Sources(plan, key, results, printed)
    return [_of(sources, name, claim) for name, claim in claims.items()]


def _of(sources: Sources, name: str, claim: Claim) -> Finding:
    """Members of a claim about claims are judged anew: each has a part of its risk."""
    if not isinstance(claim, Together):
        return _finding(sources, name, claim, RISKS)
    risks = (RISKS.swapped if claim.negate else RISKS).each(len(claim.claims), len(claim.claims))
    claims = sources.plan.papers[sources.key].claims
    members = [(key, claims[key]) for key in claim.claims]
    found = [
        _finding(sources, key, own, risks) for key, own in members if not isinstance(own, Together)
    ]
    return _together(name, claim, found)


def _finding(sources: Sources, name: str, claim: Comparison, risks: Risks) -> Finding:
    paper = sources.plan.papers[sources.key]
    tree = outline(f"{sources.key}: claims.{name}", claim, paper)
    bench, shares = Bench(sources.measured(claim), sources.quoted(claim)), dict(tree.risks(risks))
    rows = {
        c: bench.evidence(cell.label, c, shares[c]) for cell in tree.nodes for c in cell.contrasts()
    }
    judged = _judge(tree, {c: row.own_verdict for c, row in rows.items()})
    trend = _judge(tree, {c: row.verdict for c, row in rows.items()})
    return Finding(name, claim, _printed(tree, rows), judged, trend, tuple(rows.values()))


def _judge(tree: Node, verdicts: dict[Contrast, Verdict]) -> Judgement:
    parts = tuple((cell.label, cell.judge(verdicts.__getitem__)) for cell in tree.nodes)
    return Judgement(at_least(tree.k, [verdict for _, verdict in parts]), parts)


def _printed(tree: Node, rows: dict[Contrast, Evidence]) -> Judgement | None:
    """On the cells of which anything is printed; what is not printed of them stays undecided.

    'Every' and 'any' speak of the printed cells; of so many cells, the others are undecided too.
    """
    known = {c: row.printed_verdict for c, row in rows.items()}
    cells = tuple(cell for cell in tree.nodes if any(known[c] for c in cell.contrasts()))
    if not cells:
        return None
    judged = _judge(Node(1, cells), {c: v or Verdict.UNDECIDED for c, v in known.items()})
    verdicts, n = [verdict for _, verdict in judged.parts], len(tree.parts)
    silent = 0 if tree.k in (1, n) else n - len(cells)
    k = len(cells) if tree.k == n else tree.k
    return Judgement(at_least(k, verdicts + silent * [Verdict.UNDECIDED]), judged.parts)


def _together(name: str, claim: Together, members: list[Finding]) -> Finding:
    """All of them; intervals are those of each."""
    known = [x.printed.verdict for x in members if x.printed]
    printed = _all(claim, known) if len(known) == len(members) else None
    rows = tuple(row for member in members for row in member.rows)
    measured = _all(claim, [x.measured.verdict for x in members])
    trend = _all(claim, [x.trend.verdict for x in members])
    return Finding(name, claim, printed, measured, trend, rows)


def _all(claim: Together, verdicts: list[Verdict]) -> Judgement:
    found = at_least(len(verdicts), verdicts)
    parts = tuple(zip(claim.claims, verdicts, strict=True))
    return Judgement(found.opposite if claim.negate else found, parts)
