"""Expands a claim into a tree of the comparisons that it makes, in each cell that it spans.

At least k of the n parts of a node must hold; a part is a comparison or again such a node.
The rule is partial conjunction (Benjamini and Heller, Biometrics 2008). 'At least k of n statements
hold' is said wrongly with a probability of at most α if each statement is called right with a risk
of α / (n − k + 1). For if fewer than k are right, at least n − k + 1 are wrong, and one of these
must have been called right. If all n must hold, each has the risk α (an intersection–union test);
if one of n is enough, α / n (Bonferroni). That it fails means that at least n − k + 1 of the
statements fail, so that each is called wrong with a risk of α / k. The statements may depend on
each other in any way. A part that itself has parts divides its risk among them by the same rule. n
counts all that the claim names in the paper's grid: a comparison that was not run is undecided, and
never makes it easier for the others.

Each verdict has half of the 5 % of a two-sided test, so that a single comparison is decided where
its 95 % confidence interval leaves the limit out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Union

from fedbench.base.errors import FedbenchError
from fedbench.paper import claims
from fedbench.paper.claims import Equal, Greater, Side, SingleClaim, Trend, where_of
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import level_text
from fedbench.paper.paper import Paper
from fedbench.report.claims.comparisons import Comparison, Limit, Speed, Steadiness, Term, mean_of
from fedbench.report.claims.sides import Coords, Scope, pairs, scope_of, unit_of, words
from fedbench.report.claims.tests import ErrorRates, Verdict, at_least

Member = Coords | float  # one of a side: a point, or a threshold


@dataclass(frozen=True, eq=False)
class Node:
    """The statement that at least `k` of its parts hold; `label` names what the parts share."""

    k: int
    parts: tuple[Union["Node", Comparison], ...] = field(repr=False)
    label: str = ""

    @property
    def nodes(self) -> tuple["Node", ...]:
        """The parts that are nodes: the cells of a whole claim."""
        return tuple(part for part in self.parts if isinstance(part, Node))

    def error_rates(self, whole: ErrorRates) -> Iterator[tuple[Comparison, ErrorRates]]:
        """Each comparison with its share of the error rates of the whole."""
        share = whole.each(self.k, len(self.parts))
        for part in self.parts:
            yield from part.error_rates(share) if isinstance(part, Node) else ((part, share),)

    def judge(self, of: Callable[[Comparison], Verdict]) -> Verdict:
        """The verdict on the node, which follows from the verdicts `of` the comparisons."""
        verdicts = [part.judge(of) if isinstance(part, Node) else of(part) for part in self.parts]
        return at_least(self.k, verdicts)

    def over(self, others: Iterator[Comparison]) -> "Node":
        """The same statement of other comparisons, which are taken in order."""
        parts = [x.over(others) if isinstance(x, Node) else next(others) for x in self.parts]
        return replace(self, parts=tuple(parts))

    def comparisons(self) -> Iterator[Comparison]:
        """All comparisons, in order."""
        for part in self.parts:
            yield from part.comparisons() if isinstance(part, Node) else (part,)


def _denied(node: Node) -> Node:
    """The statement that this one does not hold: at least n − k + 1 of its n parts fail."""
    parts = tuple(
        _denied(x)
        if isinstance(x, Node)
        else replace(x, label=f"not: {x.label}", limit=replace(x.limit, denied=not x.limit.denied))
        for x in node.parts
    )
    return Node(len(parts) - node.k + 1, parts, node.label)


def expand(place: str, claim: SingleClaim, paper: Paper) -> Node:
    """The tree of the claim's comparisons, with one node per cell below its root.

    Raises `FedbenchError` where the claim compares nothing.
    """
    # a level against itself compares nothing, and would hold whatever was measured
    scope = scope_of(place, claim, paper)
    cells = [cell for cell in _cells(scope, claim) if any(True for _ in cell.comparisons())]
    if not cells:
        raise FedbenchError(f"{place}: no cell of the grid has both sides of the comparison")
    if claim.cells == "mean":
        starred = any(scope.starred(side) for _, side in claim.sides())
        cells = [_mean(place, cells, starred)]
    tree = Node(_needed(place, claim, len(cells)), tuple(cells))
    return _denied(tree) if claim.negate else tree


def _mean(place: str, cells: list[Node], starred: bool) -> Node:
    """One cell that compares the means over these cells.

    Raises `FedbenchError` unless each has the same comparisons; with a star, as many of them.
    """
    compared = [[*cell.comparisons()] for cell in cells]
    for cell, others in zip(cells, compared, strict=True):
        pair = [[x.label for x in each_cell] for each_cell in (compared[0], others)]
        if len(pair[0]) != len(pair[1]) or (pair[0] != pair[1] and not starred):
            raise FedbenchError(
                f"{place}.cells = mean, but {cells[0].label} compares {'; '.join(pair[0])}, and "
                f"{cell.label} {'; '.join(pair[1])}: a mean needs the same comparisons in each"
            )
    means = map(mean_of, zip(*compared, strict=True))
    return replace(cells[0].over(means), label=f"mean of {len(cells)}")


def _needed(place: str, claim: SingleClaim, cells: int) -> int:
    if claim.cells == "most":
        return cells // 2 + 1
    if isinstance(claim.cells, int) and claim.cells > cells:
        raise FedbenchError(f"{place}.cells = {claim.cells}, but it has only {cells}")
    return claim.cells if isinstance(claim.cells, int) else cells


def _cells(scope: Scope, claim: SingleClaim) -> Iterator[Node]:
    """One node per cell in which both sides have a member; a star is one level after another."""
    if isinstance(claim, Trend):
        yield from _along(scope, claim)
        return
    first, second, *_ = *(side for _, side in claim.sides()), 0.0  # a slope is above zero
    for one, other, title in pairs(scope, first, second):
        named = {*where_of(one), *where_of(other)}
        for cell, group in scope.cells(named):
            both = _members(scope, one, other, group), _members(scope, other, one, group)
            if all(both):
                yield _node(claim, words(title | cell), both, named)


def _members(scope: Scope, side: Side, rival: Side, points: list[Coords]) -> tuple[Member, ...]:
    return (side,) if isinstance(side, float) else scope.members(side, rival, points)


def _node(
    claim: SingleClaim, label: str, sides: tuple[tuple[Member, ...], ...], named: set[str]
) -> Node:
    """One cell: each member of the first side against all of the second.

    Where the claim says 'among the best n', n − 1 of the second may be ahead.
    """
    ahead = claim.place - 1 if isinstance(claim, Greater) else 0
    rows = [tuple(_duel(claim, (a, b), named) for b in sides[1] if b != a) for a in sides[0]]
    nodes = [Node(max(1, len(row) - ahead), row) for row in rows if row]
    one = isinstance(claim, Greater) and claim.winners == "one"
    return Node(1 if one else len(nodes), tuple(nodes), label)


def _duel(claim: SingleClaim, pair: tuple[Member, Member], named: set[str]) -> Comparison:
    """The first member against the second; `named` are the axes that their label names."""
    label = " against ".join(
        level_text(x) if isinstance(x, float) else words({a: x[a] for a in x if a in named})
        for x in pair
    )
    point = next(x for x in pair if isinstance(x, dict))
    sign, limit, base = 1.0, Limit(0.0), None
    match claim:
        case Equal():
            limit = Limit(-claim.margin, claim.margin)
        case claims.Slope(goes="down"):
            sign = -1.0
        case Greater():
            rounding = 0.0 if claim.margin else last_digit(claim.by)
            limit = Limit(claim.by - claim.margin, rounding=rounding)
            low = Metric(str(point["metric"])).lower_is_better
            sign = -1.0 if (claim.wins == "low" if claim.wins else low) else 1.0
    weighed = list(zip(pair, (sign, -sign), strict=True))
    terms = tuple(Term(w, (x,)) for x, w in weighed if isinstance(x, dict))
    if isinstance(claim, claims.Spread):
        return Steadiness(label, "%", limit, terms)
    if isinstance(claim, claims.Earlier):
        return Speed(label, "rounds", limit, terms, target=claim.target)
    if isinstance(claim, Equal | Greater) and claim.relative and isinstance(pair[1], dict):
        base = pair[1]
    constant = sum(w * x for x, w in weighed if isinstance(x, float))
    return Comparison(label, "%" if base else unit_of(point), limit, terms, constant, base)


def last_digit(size: float) -> float:
    """One unit of the last digit of a size as the text prints it: 0.1 of 2.4, 1 of 20; 0 of 0."""
    if not size:
        return 0.0
    exponent = Decimal(f"{size:.12g}").as_tuple().exponent
    return float(10.0 ** min(0, int(exponent)))


Value = tuple[Term, ...]  # what is measured at one place along a trend


def _along(scope: Scope, claim: Trend) -> Iterator[Node]:
    """One node per cell that has all the places along the trend."""
    names = list(claim.along)
    places = [dict(zip(names, x, strict=True)) for x in zip(*claim.along.values(), strict=True)]
    named = {*names, *where_of(claim.of), *where_of(claim.minus)}
    for cell, points in scope.cells(named):
        there = (scope.members(place, None, points) for place in places)
        values = [_value(scope, claim, [*at_place]) for at_place in there]
        if all(values):
            steps = tuple(_steps(claim, places, values))
            yield Node(len(steps), steps, words(cell))


def _value(scope: Scope, claim: Trend, points: list[Coords]) -> Value:
    """The value at a place, or the difference of two sides where both are named; else empty."""
    sides = [scope.members(claim.of, None, points)]
    sides += [] if claim.minus is None else [scope.members(claim.minus, claim.of, points)]
    return tuple(map(Term, (1.0, -1.0), sides)) if all(sides) else ()


def _steps(claim: Trend, places: list[Coords], values: list[Value]) -> list[Comparison]:
    """One comparison per step, or a single one of the two ends of the fitted line."""
    named = [words(place) for place in places]
    unit = unit_of(values[0][0].points[0])
    limit = Limit(claim.by, rounding=last_digit(claim.by))
    if claim.steps == "overall":
        # the rise from end to end of the least-squares line through equal steps
        last = len(values) - 1
        from_middle = [i - last / 2 for i in range(len(values))]
        total = sum(x**2 for x in from_middle)
        terms = _weighed(values, [last * x / total for x in from_middle])
        return [Comparison(f"{named[0]} … {named[-1]}, fitted line", unit, limit, terms)]
    pairs = zip(named, named[1:], values, values[1:], strict=False)
    return [
        Comparison(f"{a} → {b}", unit, limit, _weighed([x, y], [-1.0, 1.0])) for a, b, x, y in pairs
    ]


def _weighed(values: list[Value], weights: list[float]) -> tuple[Term, ...]:
    pairs = zip(values, weights, strict=True)
    return tuple(Term(term.weight * w, term.points) for value, w in pairs for term in value)
