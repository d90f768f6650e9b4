"""Expands a claim into a tree of the comparisons that it makes, in each cell that it spans.

At least k of the n parts of a node must hold (partial conjunction: Benjamini and Heller, Biometrics
2008). That is said wrongly with a probability of at most α if each part is called right with a risk
of α / (n − k + 1): if fewer than k are right, at least n − k + 1 are wrong, and one of these must
have been called right. That it fails means that n − k + 1 parts fail, so that each is called wrong
with a risk of α / k. The parts may depend on each other in any way. n counts all that the claim
names in the paper's grid: a comparison that was not run is undecided, and helps no other.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Union

from fedbench.base.errors import FedbenchError
from fedbench.paper import claims
from fedbench.paper.claims import Equal, Greater, SingleClaim, Trend, where_of
from fedbench.paper.metrics import Metric
from fedbench.paper.paper import Paper
from fedbench.paper.yaml_notation import level_text
from fedbench.report.claims.compared_sides import Coords, Scope, pairs, scope_of, words
from fedbench.report.claims.comparisons import Comparison, Speed, Steadiness, Term
from fedbench.report.claims.tests import ErrorRates, Limit, Verdict, at_least

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

    def judge(self, of: Mapping[Comparison, Verdict]) -> Verdict:
        """The verdict that follows from those `of` the comparisons."""
        verdicts = [part.judge(of) if isinstance(part, Node) else of[part] for part in self.parts]
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
    """One node per cell below the root; `FedbenchError` where the claim compares nothing."""
    scope = scope_of(place, claim, paper)
    if isinstance(claim, claims.Spread) and claim.table and paper.tables[claim.table].over:
        told = f"spread compares deviations over seeds, and {claim.table} takes means over others"
        raise FedbenchError(f"{place}: kind {told}; name its grid")
    cells = [*(_along(scope, claim) if isinstance(claim, Trend) else _cells(scope, claim))]
    if not cells:
        raise FedbenchError(f"{place}: no cell of the grid has both sides of the comparison")
    if claim.cells == "mean":
        starred = any(scope.starred(side) for _, side in claim.sides())
        cells = [_mean(place, cells, starred)]
    needed = claim.cells if isinstance(claim.cells, int) else len(cells)
    if needed > len(cells):
        raise FedbenchError(f"{place}.cells = {needed}, but it has only {len(cells)}")
    tree = Node(len(cells) // 2 + 1 if claim.cells == "most" else needed, tuple(cells))
    return _denied(tree) if claim.negate else tree


def _mean(place: str, cells: list[Node], starred: bool) -> Node:
    """One cell that compares the means; `FedbenchError` unless all have the same comparisons."""
    compared = [[*cell.comparisons()] for cell in cells]
    for cell, others in zip(cells, compared, strict=True):
        pair = [[x.label for x in each_cell] for each_cell in (compared[0], others)]
        if len(pair[0]) != len(pair[1]) or (pair[0] != pair[1] and not starred):
            raise FedbenchError(
                f"{place}.cells = mean, but {cells[0].label} compares {'; '.join(pair[0])}, and "
                f"{cell.label} {'; '.join(pair[1])}: a mean needs the same comparisons in each"
            )
    means = []
    for same in zip(*compared, strict=True):
        labels = list(dict.fromkeys(one.label for one in same))
        label = labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
        terms = [Term(term.weight / len(same), term.points) for one in same for term in one.terms]
        constant = math.fsum(one.constant for one in same) / len(same)
        means.append(Comparison(label, same[0].unit, same[0].limit, tuple(terms), constant))
    return replace(cells[0].over(iter(means)), label=f"mean of {len(cells)}")


def _cells(scope: Scope, claim: SingleClaim) -> Iterator[Node]:
    """One node per cell in which both sides have a member; a star is one level after another."""
    first, second, *_ = *(side for _, side in claim.sides()), 0.0  # a slope is above zero
    ahead = claim.place - 1 if isinstance(claim, Greater) else 0  # of the second side, may be
    one_wins = isinstance(claim, Greater) and claim.winners == "one"
    for one, other, title in pairs(scope, first, second):
        named = {*where_of(one), *where_of(other)}
        for cell, group in scope.cells(named):
            mine, theirs = (
                (side,) if isinstance(side, float) else scope.members(side, rival, group)
                for side, rival in ((one, other), (other, one))
            )
            rows = [[_duel(claim, (a, b), named) for b in theirs if b != a] for a in mine]
            nodes = tuple(Node(max(1, len(row) - ahead), tuple(row)) for row in rows if row)
            if nodes:
                yield Node(1 if one_wins else len(nodes), nodes, words(title | cell))


def _duel(claim: SingleClaim, pair: tuple[Member, Member], named: set[str]) -> Comparison:
    """`named` are the axes that the label names."""
    label = " against ".join(
        level_text(x) if isinstance(x, float) else words({a: x[a] for a in x if a in named})
        for x in pair
    )
    metric = Metric(next(str(x["metric"]) for x in pair if isinstance(x, dict)))
    sign, limit, base = 1.0, Limit(0.0), None
    match claim:
        case Equal():
            limit = Limit(-claim.margin, claim.margin)
        case claims.Slope(goes="down"):
            sign = -1.0
        case Greater():
            rounding = 0.0 if claim.margin else last_digit(claim.by, claim.text)
            limit = Limit(claim.by - claim.margin, rounding=rounding)
            lower = claim.wins == "low" if claim.wins else metric.lower_is_better
            sign = -1.0 if lower else 1.0
    weighed = list(zip(pair, (sign, -sign), strict=True))
    terms = tuple(Term(w, (x,)) for x, w in weighed if isinstance(x, dict))
    if isinstance(claim, claims.Spread):
        return Steadiness(label, "%", limit, terms)
    if isinstance(claim, claims.Earlier):
        return Speed(label, "rounds", limit, terms, target=claim.target)
    if isinstance(claim, Equal | Greater) and claim.relative and isinstance(pair[1], dict):
        base = pair[1]
    constant = sum(w * x for x, w in weighed if isinstance(x, float))
    unit = "%" if base else metric.unit_of_differences
    return Comparison(label, unit, limit, terms, constant, base)


def last_digit(size: float, text: str = "") -> float:
    """One unit of the last digit of a size as the text prints it: 0.1 of 3.0, 1 of 20; 0 of 0."""
    if not size:
        return 0.0
    written = [x for x in re.findall(r"(?<![\d.])\d+(?:\.\d+)?", text) if float(x) == abs(size)]
    exponents = [Decimal(x).as_tuple().exponent for x in written or [f"{size:.12g}"]]
    return float(10.0 ** min(0, *map(int, exponents)))


def _along(scope: Scope, claim: Trend) -> Iterator[Node]:
    """One node per cell that has all the places; the value at each is of one side, or two's gap."""
    names = list(claim.along)
    places = [dict(zip(names, x, strict=True)) for x in zip(*claim.along.values(), strict=True)]
    named = {*names, *where_of(claim.of), *where_of(claim.minus)}
    for cell, points in scope.cells(named):
        values = []
        for place in places:
            there = [*scope.members(place, None, points)]
            value = [Term(1.0, scope.members(claim.of, None, there))]
            if claim.minus is not None:
                value.append(Term(-1.0, scope.members(claim.minus, claim.of, there)))
            values.append(value)
        if all(term.points for value in values for term in value):
            steps = tuple(_steps(claim, [words(place) for place in places], values))
            yield Node(len(steps), steps, words(cell))


def _steps(claim: Trend, places: list[str], values: list[list[Term]]) -> Iterator[Comparison]:
    """One comparison per step, or a single one of the two ends of the fitted line."""
    unit = Metric(str(values[0][0].points[0]["metric"])).unit_of_differences
    limit = Limit(claim.by, rounding=last_digit(claim.by, claim.text))
    last = len(values) - 1
    steps = [(f"{places[i]} → {places[i + 1]}", {i: -1.0, i + 1: 1.0}) for i in range(last)]
    if claim.steps == "overall":
        # the rise from end to end of the least-squares line through equal steps
        from_middle = [i - last / 2 for i in range(len(values))]
        total = sum(x**2 for x in from_middle)
        line = {i: last * x / total for i, x in enumerate(from_middle)}
        steps = [(f"{places[0]} … {places[-1]}, fitted line", line)]
    for label, weights in steps:
        terms = (Term(x.weight * w, x.points) for i, w in weights.items() for x in values[i])
        yield Comparison(label, unit, limit, tuple(terms))
