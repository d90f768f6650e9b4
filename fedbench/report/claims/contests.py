"""Which points stand against which: two sides of a claim, cell by cell."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.base.errors import FedbenchError
from fedbench.paper.claims import OTHERS, Side, where_of
from fedbench.paper.places import Where, has_star, stems
from fedbench.plan.plan import matches
from fedbench.report.claims.scope import Scope
from fedbench.report.claims.source import Coords

Member = Coords | float  # a point, or a threshold


@dataclass(frozen=True)
class Contest:
    """The two sides in one cell, and the axes that the sides name."""

    cell: Coords
    first: tuple[Member, ...]
    second: tuple[Member, ...]
    named: frozenset[str]


def contests(scope: Scope, first: Side, second: Side) -> Iterator[Contest]:
    """All cells in which both sides have a member; a star stands for one level after another."""
    for one, other, title in _pairs(scope, first, second):
        named = {*where_of(one), *where_of(other)}
        for cell, points in scope.cells(named):
            sides = _members(scope, one, other, points), _members(scope, other, one, points)
            if all(sides):
                yield Contest(title | cell, *sides, frozenset(named))


def _pairs(scope: Scope, first: Side, second: Side) -> list[tuple[Side, Side, Coords]]:
    """The sides as they are, or for each level that the star stands for, with its name."""
    one, other = where_of(first), where_of(second)
    starred = [axis for axis in one if has_star(one[axis])]
    if not starred:
        return [(first, second, {})]
    axis = starred[0]
    levels = tuple({point[axis]: None for point in scope.points})
    both = [x for x in stems(one[axis], levels) if _fill(other, axis, x).get(axis) in levels]
    if not both:
        raise FedbenchError(f"{scope.place}: no levels of '{axis}' fit {first} and {second}")
    return [(_fill(one, axis, x), _fill(other, axis, x), {axis: x}) for x in both]


def _fill(where: Where, axis: str, stem: str) -> Where:
    return where | {axis: str(where[axis]).replace("*", stem)} if axis in where else where


def _members(scope: Scope, side: Side, rival: Side, points: list[Coords]) -> tuple[Member, ...]:
    """The points of a side; no control is one of the others."""
    if isinstance(side, float):
        return (side,)
    if side == OTHERS:
        taken = scope.spell(where_of(rival))
        return tuple(p for p in points if not matches(p, taken) and not scope.is_control(p))
    return tuple(p for p in points if matches(p, scope.spell(where_of(side))))
