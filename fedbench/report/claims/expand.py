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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Union

from fedbench.base.errors import FedbenchError
from fedbench.paper.claims import (
    OTHERS,
    Earlier,
    Equal,
    Greater,
    Side,
    SingleClaim,
    Slope,
    Spread,
    Trend,
    where_of,
)
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import Where
from fedbench.paper.paper import Paper
from fedbench.plan.points import matches
from fedbench.report.claims.comparisons import (
    Comparison,
    Difference,
    Speed,
    Steadiness,
    Term,
    mean_of,
)
from fedbench.report.claims.limits import Limit
from fedbench.report.claims.sides import (
    Coords,
    Member,
    Scope,
    Sides,
    member,
    scope_of,
    sides_by_cell,
    unit_of,
    words,
)
from fedbench.report.claims.tests import ErrorRates, Verdict, at_least


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

    @property
    def denied(self) -> "Node":
        """The statement that this one does not hold: at least n − k + 1 of its n parts fail."""
        fewest = len(self.parts) - self.k + 1
        return Node(fewest, tuple(_denied(part) for part in self.parts), self.label)

    def comparisons(self) -> Iterator[Comparison]:
        """All comparisons, in order."""
        for part in self.parts:
            yield from part.comparisons() if isinstance(part, Node) else (part,)


def each(parts: Sequence[Node | Comparison], label: str = "") -> Node:
    """The statement that all of the parts hold."""
    return Node(len(parts), tuple(parts), label)


def _denied(part: Node | Comparison) -> Node | Comparison:
    if isinstance(part, Node):
        return part.denied
    return replace(part, label=f"not: {part.label}", limit=part.limit.opposite)


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
        _require_alike(place, cells, starred)
        cells = [_mean(cells)]
    tree = Node(_needed(place, claim, len(cells)), tuple(cells))
    return tree.denied if claim.negate else tree


def _require_alike(place: str, cells: list[Node], starred: bool) -> None:
    """Raise `FedbenchError` unless every cell compares the same, so that it has a mean over them.

    With a star each cell has levels of its own, but as many of them.
    """
    for cell in cells:
        pairs = [[x.label for x in each_cell.comparisons()] for each_cell in (cells[0], cell)]
        if len(pairs[0]) != len(pairs[1]) or (pairs[0] != pairs[1] and not starred):
            raise FedbenchError(
                f"{place}.cells = mean, but {cells[0].label} compares {'; '.join(pairs[0])}, and "
                f"{cell.label} {'; '.join(pairs[1])}: a mean needs the same comparisons in each"
            )


def _mean(cells: list[Node]) -> Node:
    """One cell that compares the means over these cells, which have the same shape."""
    rows = zip(*(cell.parts for cell in cells), strict=True)
    parts = tuple(_mean_part([*same]) for same in rows)
    return Node(cells[0].k, parts, f"mean of {len(cells)}")


def _mean_part(same: list[Node | Comparison]) -> Node | Comparison:
    if isinstance(same[0], Node):
        return replace(_mean([node for node in same if isinstance(node, Node)]), label="")
    labels = list(dict.fromkeys(x.label for x in same))
    label = labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
    return mean_of(label, [x for x in same if isinstance(x, Difference)])


def _needed(place: str, claim: SingleClaim, cells: int) -> int:
    """In how many cells the claim must hold."""
    if claim.cells == "most":
        return cells // 2 + 1
    if isinstance(claim.cells, int) and claim.cells > cells:
        raise FedbenchError(f"{place}.cells = {claim.cells}, but it has only {cells}")
    return claim.cells if isinstance(claim.cells, int) else cells


def _cells(scope: Scope, claim: SingleClaim) -> Iterator[Node]:
    match claim:
        case Trend():
            yield from _along(scope, claim)
        case Equal():
            yield from (_node(claim, x) for x in sides_by_cell(scope, claim.of, claim.to))
        case Greater() | Spread() | Earlier():
            yield from (_node(claim, x) for x in sides_by_cell(scope, claim.winner, claim.loser))
        case Slope():
            yield from (_node(claim, x) for x in sides_by_cell(scope, claim.of, 0.0))


def _node(claim: SingleClaim, sides: Sides) -> Node:
    """One cell: each member of the first side against all of the second.

    Where the claim says 'among the best n', n − 1 of the second may be ahead.
    """
    ahead = claim.place - 1 if isinstance(claim, Greater) else 0
    rows = [
        tuple(duel(claim, (a, b), sides.named) for b in sides.second if b != a) for a in sides.first
    ]
    nodes = [Node(max(1, len(row) - ahead), row) for row in rows if row]
    one = isinstance(claim, Greater) and claim.winners == "one"
    return Node(1 if one else len(nodes), tuple(nodes), words(sides.cell))


def duel(claim: SingleClaim, pair: tuple[Member, Member], named: frozenset[str]) -> Comparison:
    """The first member against the second; `named` are the axes that their label names."""
    label = " against ".join(member(x, named) for x in pair)
    first, second = pair
    if isinstance(claim, Spread | Earlier) and isinstance(first, dict) and isinstance(second, dict):
        if isinstance(claim, Earlier):
            return Speed(label, "rounds", Limit(0.0), first, second, claim.target)
        return Steadiness(label, "%", Limit(0.0), first, second)
    if isinstance(claim, Equal):
        return _difference(label, pair, 1.0, Limit(-claim.margin, claim.margin), claim.relative)
    if isinstance(claim, Slope):
        return _difference(label, pair, 1.0 if claim.goes == "up" else -1.0, Limit(0.0), False)
    if isinstance(claim, Greater):
        rounding = 0.0 if claim.margin else last_digit(claim.by)
        limit = Limit(claim.by - claim.margin, rounding=rounding)
        return _difference(label, pair, _sign(pair, claim.wins), limit, claim.relative)
    raise TypeError(type(claim))


def last_digit(size: float) -> float:
    """One unit of the last digit of a size as the text prints it: 0.1 of 2.4, 1 of 20; 0 of 0."""
    if not size:
        return 0.0
    exponent = Decimal(f"{size:.12g}").as_tuple().exponent
    return float(10.0 ** min(0, int(exponent)))


def _difference(
    label: str, pair: tuple[Member, Member], sign: float, limit: Limit, relative: bool
) -> Difference:
    weighed = list(zip(pair, (sign, -sign), strict=True))
    terms = tuple(Term(w, (x,)) for x, w in weighed if isinstance(x, dict))
    constant = sum(w * x for x, w in weighed if isinstance(x, float))
    base = pair[1] if relative and isinstance(pair[1], dict) else None
    unit = "%" if base else unit_of(_point(pair))
    return Difference(label, unit, limit, terms, constant, base)


def _sign(pair: tuple[Member, Member], wins: str | None) -> float:
    """The sign of a lead: −1 where less is better."""
    low = Metric(str(_point(pair)["metric"])).lower_is_better if wins is None else wins == "low"
    return -1.0 if low else 1.0


def _point(pair: tuple[Member, Member]) -> Coords:
    return next(x for x in pair if isinstance(x, dict))


Value = tuple[Term, ...]  # what is measured at one place along a trend


def _along(scope: Scope, claim: Trend) -> Iterator[Node]:
    """One node per cell that has all the places along the trend."""
    names = list(claim.along)
    places = [dict(zip(names, x, strict=True)) for x in zip(*claim.along.values(), strict=True)]
    named = {*names, *where_of(claim.of), *where_of(claim.minus)}
    for cell, points in scope.cells(named):
        values = [_value(scope, claim, _at(scope, points, place)) for place in places]
        if all(values):
            yield each(_steps(claim, places, values), words(cell))


def _at(scope: Scope, points: list[Coords], place: Coords) -> list[Coords]:
    return [point for point in points if matches(point, scope.spell(dict(place)))]


def _value(scope: Scope, claim: Trend, points: list[Coords]) -> Value:
    """The value at a place, or the difference of two sides where both are named; else empty."""
    first = points if claim.of is None else _side(scope, claim.of, points)
    if claim.minus is None:
        return (Term(1.0, tuple(first)),) if first else ()
    rest = [point for point in points if point not in first and not scope.is_control(point)]
    other = rest if claim.minus == OTHERS else _side(scope, claim.minus, points)
    return (Term(1.0, tuple(first)), Term(-1.0, tuple(other))) if first and other else ()


def _side(scope: Scope, side: Side, points: list[Coords]) -> list[Coords]:
    where: Where = scope.spell(where_of(side))
    return [point for point in points if matches(point, where)]


def _steps(claim: Trend, places: list[Coords], values: list[Value]) -> list[Difference]:
    """One comparison per step, or a single one of the two ends of the fitted line."""
    named = [words(place) for place in places]
    unit = unit_of(values[0][0].points[0])
    limit = Limit(claim.by, rounding=last_digit(claim.by))
    if claim.steps == "overall":
        terms = _weighed(values, _line(len(values)))
        return [Difference(f"{named[0]} … {named[-1]}, fitted line", unit, limit, terms)]
    pairs = zip(named, named[1:], values, values[1:], strict=False)
    return [
        Difference(f"{a} → {b}", unit, limit, _weighed([x, y], [-1.0, 1.0])) for a, b, x, y in pairs
    ]


def _line(n: int) -> list[float]:
    """Weights of the rise from end to end of the least-squares line through n equal steps."""
    middle = (n - 1) / 2
    total = sum((i - middle) ** 2 for i in range(n))
    return [(n - 1) * (i - middle) / total for i in range(n)]


def _weighed(values: list[Value], weights: list[float]) -> tuple[Term, ...]:
    pairs = zip(values, weights, strict=True)
    return tuple(Term(term.weight * w, term.points) for value, w in pairs for term in value)
