"""The points of a grid that a claim speaks of, divided into cells and contests."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.base.errors import FedbenchError
from fedbench.paper.claims import OTHERS, Comparison, Side, Trend, where_of
from fedbench.paper.items import Grid, Table
from fedbench.paper.paper import Paper
from fedbench.paper.places import At, Level, Where, as_tuple, has_star, reading, stems
from fedbench.plan.plan import matches, points
from fedbench.report.claims.source import Coords


@dataclass(frozen=True)
class Scope:
    """A claim's points, each with its metric, without axes that count as repeats.

    `controls` are levels of the method axis that stand for nobody's rivals.
    """

    place: str
    grid: str
    points: tuple[Coords, ...]
    controls: frozenset[Level]
    usual: At

    def cells(self, named: set[str]) -> Iterator[tuple[Coords, list[Coords]]]:
        """Points that differ in the named axes alone, under what they share."""
        groups: dict[str, list[Coords]] = {}
        for point in self.points:
            groups.setdefault(str(_rest(point, named)), []).append(point)
        for own in groups.values():
            yield _rest(own[0], named), own

    def is_control(self, point: Coords) -> bool:
        """Whether its method is none of the paper's."""
        return point.get("method") in self.controls

    def spell(self, where: Where) -> Where:
        """The place with its metrics' moments written out."""
        if "metric" not in where:
            return where
        names = tuple(spelled(str(m), self.usual) for m in as_tuple(where["metric"]))
        return where | {"metric": names}


def scope_of(place: str, claim: Comparison, paper: Paper) -> Scope:
    """What the claim spans of the paper's grid, whatever the scale."""
    table = (
        paper.tables[claim.table]
        if claim.table
        else Table(title="", grid=claim.grid, rows=("method",))
    )
    grid = paper.grids[table.grid]
    where = table.where | claim.where
    real: Where = {axis: levels for axis, levels in where.items() if axis in grid.axes}
    found = [{k: v for k, v in p.items() if k not in table.over} for p in _matching(grid, real)]
    unique = list({str(point): point for point in found}.values())
    extra = _extra(claim, grid, where) | {"metric": _metrics(claim, table)}
    everything = tuple(
        point | dict(zip(extra, levels, strict=True))
        for levels in itertools.product(*extra.values())
        for point in unique
    )
    controls = frozenset(x for item in paper.tables.values() for x in item.controls)
    return Scope(place, table.grid, everything, controls, table.at)


def spelled(metric: str, usual: At) -> str:
    """A metric with its moment: 'accuracy' after the last round is 'accuracy@final'."""
    found = reading(metric, usual)
    return f"{found.metric}@{found.moment}"


def _matching(grid: Grid, where: Where) -> list[Coords]:
    return [point for point in points(grid) if matches(point, where)]


def _metrics(claim: Comparison, table: Table) -> tuple[Level, ...]:
    """Metrics that the sides name, else the claim's, else the table's."""
    named = [x for where in _places(claim) for x in as_tuple(where.get("metric", ()))]
    chosen = named or [*as_tuple(claim.where.get("metric", ()))] or claim.metrics or table.metrics
    return tuple(dict.fromkeys(spelled(str(metric), table.at) for metric in chosen))


def _extra(claim: Comparison, grid: Grid, where: Where) -> dict[str, tuple[Level, ...]]:
    """Columns of a probe's table that are used like axes, with the levels named."""
    found: dict[str, tuple[Level, ...]] = {}
    for place in (where, *_places(claim)):
        for axis in place.keys() - grid.axes.keys() - {"metric"}:
            found[axis] = tuple(dict.fromkeys((*found.get(axis, ()), *as_tuple(place[axis]))))
    return dict(sorted(found.items()))


def _places(claim: Comparison) -> list[Where]:
    along: list[Where] = [dict(claim.along)] if isinstance(claim, Trend) else []
    return [*(where_of(side) for _, side in claim.sides()), *along]


def _rest(point: Coords, named: set[str]) -> Coords:
    return {axis: level for axis, level in point.items() if axis not in named}


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
        for cell, found in scope.cells(named):
            sides = _members(scope, one, other, found), _members(scope, other, one, found)
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
