"""The comparisons of a claim that a value, or a difference of two, rises along some places."""

from collections.abc import Iterator

from fedbench.paper.claims import OTHERS, Side, Trend, where_of
from fedbench.paper.places import Where
from fedbench.plan.plan import matches
from fedbench.report.claims.difference import Difference, Term
from fedbench.report.claims.limit import Beyond
from fedbench.report.claims.naming import unit_of, words
from fedbench.report.claims.scope import Scope
from fedbench.report.claims.source import Coords
from fedbench.report.claims.tree import Node, each

Value = tuple[Term, ...]  # what is measured at one place


def cells(scope: Scope, claim: Trend) -> Iterator[Node]:
    """A node for each cell that has all the places."""
    names = list(claim.along)
    places = [dict(zip(names, x, strict=True)) for x in zip(*claim.along.values(), strict=True)]
    sides = {*where_of(claim.of), *where_of(claim.minus)}
    for cell, points in scope.cells({*names, *sides}):
        values = [_value(scope, claim, _at(scope, points, place)) for place in places]
        if all(values):
            yield each(_steps(claim, places, values), words(cell))


def _at(scope: Scope, points: list[Coords], place: Coords) -> list[Coords]:
    return [point for point in points if matches(point, scope.spell(dict(place)))]


def _value(scope: Scope, claim: Trend, points: list[Coords]) -> Value:
    """The value at a place, the difference of two sides where both are named; or nothing."""
    own = points if claim.of is None else _side(scope, claim.of, points)
    if claim.minus is None:
        return (Term(1.0, own_points),) if (own_points := tuple(own)) else ()
    rest = [point for point in points if point not in own and not scope.is_control(point)]
    other = rest if claim.minus == OTHERS else _side(scope, claim.minus, points)
    return (Term(1.0, tuple(own)), Term(-1.0, tuple(other))) if own and other else ()


def _side(scope: Scope, side: Side, points: list[Coords]) -> list[Coords]:
    where: Where = scope.spell(where_of(side))
    return [point for point in points if matches(point, where)]


def _steps(claim: Trend, places: list[Coords], values: list[Value]) -> list[Difference]:
    """One comparison a step, or one of the straight line's ends."""
    named = [words(place) for place in places]
    unit, limit = unit_of(values[0][0].points[0]), Beyond(claim.by)
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
