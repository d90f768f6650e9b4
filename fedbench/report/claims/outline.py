"""From a claim to its tree of comparisons, in the cells that it spans."""

from collections.abc import Iterator
from itertools import pairwise

from fedbench.base.errors import FedbenchError
from fedbench.paper.claims import Comparison, Earlier, Equal, Greater, Order, Slope, Spread, Trend
from fedbench.paper.paper import Paper
from fedbench.report.claims import slopes
from fedbench.report.claims.contests import Contest, contests
from fedbench.report.claims.duel import duel
from fedbench.report.claims.naming import words
from fedbench.report.claims.scope import Scope, scope_of
from fedbench.report.claims.tree import Node, averaged, each


def outline(place: str, claim: Comparison, paper: Paper) -> Node:
    """The claim's cells below one node; raises `FedbenchError` where it compares nothing."""
    cells = list(_cells(scope_of(place, claim, paper), claim))
    if not cells:
        raise FedbenchError(f"{place}: no cell of the grid has both sides of the comparison")
    if claim.cells == "mean":
        cells = [averaged(cells)]
    tree = Node(_needed(place, claim, len(cells)), tuple(cells))
    return tree.denied if claim.negate else tree


def _needed(place: str, claim: Comparison, cells: int) -> int:
    """In how many cells it must hold."""
    if claim.cells == "most":
        return cells // 2 + 1
    if isinstance(claim.cells, int) and claim.cells > cells:
        raise FedbenchError(f"{place}.cells = {claim.cells}, but it has only {cells}")
    return claim.cells if isinstance(claim.cells, int) else cells


def _cells(scope: Scope, claim: Comparison) -> Iterator[Node]:
    match claim:
        case Trend():
            yield from slopes.cells(scope, claim)
        case Order():
            yield from _ladder(scope, claim)
        case Equal():
            yield from (_node(claim, x) for x in contests(scope, claim.of, claim.to))
        case Greater() | Spread() | Earlier():
            yield from (_node(claim, x) for x in contests(scope, claim.winner, claim.loser))
        case Slope():
            yield from (_node(claim, x) for x in contests(scope, claim.of, 0.0))


def _node(claim: Comparison, contest: Contest) -> Node:
    """Each member of the first side against all of the second, but those allowed ahead."""
    ahead = claim.place - 1 if isinstance(claim, Greater) else 0
    rows = [
        tuple(duel(claim, (a, b), contest.named) for b in contest.second if b != a)
        for a in contest.first
    ]
    nodes = [Node(max(1, len(row) - ahead), row) for row in rows if row]
    one = isinstance(claim, Greater) and claim.winners == "one"
    return Node(1 if one else len(nodes), tuple(nodes), words(contest.cell))


def _ladder(scope: Scope, claim: Order) -> Iterator[Node]:
    """In each cell, every member against the next."""
    found: dict[str, list[Node]] = {}
    for better, worse in pairwise(claim.order):
        for contest in contests(scope, better, worse):
            found.setdefault(words(contest.cell), []).append(_node(claim, contest))
    yield from (each(nodes, label) for label, nodes in found.items())
