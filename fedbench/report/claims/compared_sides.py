"""Which points of a grid a claim compares, which side each is on, and how they are called."""

import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass

from fedbench.base.errors import FedbenchError
from fedbench.base.grouping import grouped
from fedbench.paper.claims import OTHERS, Earlier, Side, SingleClaim, Trend, where_of
from fedbench.paper.grid_points import matches, points
from fedbench.paper.metrics import Metric
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import At, Level, Where, as_tuple, is_pattern, reading, stems
from fedbench.report.values.numbers import point_name

Coords = dict[str, Level]  # a point of the grid, with its metric as one more axis
Points = tuple[Coords, ...]


@dataclass(frozen=True)
class Scope:
    """The points that a claim compares, each with its metric, without axes counted as repeats."""

    place: str
    grid: str
    points: Points
    axes: dict[str, tuple[Level, ...]]  # all levels of the grid
    controls: frozenset[Level]  # levels of the method axis that are never meant by 'others'
    usual: At  # the moment at which a metric is read unless it names its own

    def cells(self, named: set[str]) -> Iterator[tuple[Coords, list[Coords]]]:
        """By cell what its points share, and the points, which differ in the named axes alone."""
        for group in grouped(self.points, lambda point: str(_rest(point, named))).values():
            yield _rest(group[0], named), group

    def starred(self, side: Side | None) -> list[str]:
        """The axes whose levels the side names by a pattern."""
        where = where_of(side)
        return [axis for axis, x in where.items() if is_pattern(x, self.axes.get(axis, ()))]

    def members(self, side: Side | None, rival: Side | None, points: list[Coords]) -> Points:
        """The points of a side, all where it is None; 'others': not the rival's, no controls."""
        where = where_of(rival if side == OTHERS else side)
        if names := as_tuple(where.get("metric", ())):  # with their moments written out
            where = where | {"metric": tuple(spelled(str(name), self.usual) for name in names)}
        if side != OTHERS:
            return tuple(p for p in points if matches(p, where))
        rest = (p for p in points if not matches(p, where))
        return tuple(p for p in rest if p.get("method") not in self.controls)


def scope_of(at: str, claim: SingleClaim, paper: Paper) -> Scope:
    """The points of the paper's own grid that the claim spans, whatever the scale."""
    no_table = Table(title="", grid=claim.grid, rows=("method",))
    table = paper.tables[claim.table] if claim.table else no_table
    grid = paper.grids[table.grid]
    where = table.where | claim.where
    real: Where = {axis: levels for axis, levels in where.items() if axis in grid.axes}
    matching = (point for point in points(grid) if matches(point, real))
    unique = {str(x): x for x in (_rest(point, table.over) for point in matching)}
    places: list[Where] = [where_of(side) for _, side in claim.sides()]
    places += [dict(claim.along)] if isinstance(claim, Trend) else []
    columns: dict[str, tuple[Level, ...]] = {}  # of a probe's table, which are used like axes
    for place in (where, *places):
        for axis in place.keys() - grid.axes.keys() - {"metric"}:
            columns[axis] = tuple(dict.fromkeys((*columns.get(axis, ()), *as_tuple(place[axis]))))
    named = [x for place in places for x in as_tuple(place.get("metric", ()))]
    asked = named or as_tuple(claim.where.get("metric", ())) or claim.metrics or table.metrics
    usual: At = table.at
    if isinstance(claim, Earlier):  # whole curves, of which a moment says nothing
        usual = "final"
        asked = _curves(at, tuple(map(str, asked)))
    metrics = dict.fromkeys(spelled(str(metric), usual) for metric in asked)
    extra = dict(sorted(columns.items())) | {"metric": tuple(metrics)}
    everything = tuple(
        point | dict(zip(extra, levels, strict=True))
        for levels in itertools.product(*extra.values())
        for point in unique.values()
    )
    controls = frozenset(x for item in paper.tables.values() for x in item.controls)
    return Scope(at, table.grid, everything, grid.axes, controls, usual)


def _curves(place: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """What is asked, without moments, but for costs and counts, which come nearer to no target."""
    read = [reading(each) for each in asked]
    curves = (x.metric for x in read if not x.target and Metric(x.metric).is_ranked)
    found = dict.fromkeys(each for each in curves if not Metric(each).is_cost)
    if not found:
        told = f"{place}: metrics = {', '.join(asked)} is not allowed with the kind 'earlier'"
        raise FedbenchError(f"{told}; it must have a score or a loss")
    return tuple(found)


def spelled(metric: str, usual: At) -> str:
    """A metric with its moment written out: 'accuracy' is 'accuracy@final' after the last round."""
    asked = reading(metric, usual)
    return f"{asked.metric}@{asked.moment}"


def _rest(point: Coords, named: Container[str]) -> Coords:
    return {axis: level for axis, level in point.items() if axis not in named}


def pairs(scope: Scope, first: Side, second: Side) -> list[tuple[Side, Side, Coords]]:
    """The sides as they are; with a star, the sides for each level that fits it, and that level."""
    one, other = where_of(first), where_of(second)
    if not scope.starred(first):
        return [(first, second, {})]
    axis = scope.starred(first)[0]
    levels = tuple({point[axis]: None for point in scope.points})
    too = axis in scope.starred(second)
    rivals = {x: _fill(other, axis, x) if too else other for x in stems(one[axis], levels)}
    both = {x: rival for x, rival in rivals.items() if rival.get(axis) in levels}
    if not both:
        raise FedbenchError(f"{scope.place}: no levels of '{axis}' fit {first} and {second}")
    return [(_fill(one, axis, x), rival, {axis: x}) for x, rival in both.items()]


def _fill(where: Where, axis: str, stem: str) -> Where:
    return where | {axis: str(where[axis]).replace("*", stem)}


def words(coords: Coords) -> str:
    """The levels of a point: 'CIFAR-10, α = 0.1, Accuracy at round 50'; 'final' is not said."""
    told = []
    for axis, level in coords.items():
        if axis == "metric":
            asked = reading(str(level))
            name = asked.metric if asked.at == "final" else str(level)
            told.append(Metric(name).label.replace("/", ": "))
        else:
            told.append(str(level) if axis == "method" else point_name(axis, level))
    return ", ".join(told)
