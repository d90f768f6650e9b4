"""Refuses a paper's file that names an axis, level, grid, table or claim it does not have."""

import math
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, quoted, unknown
from fedbench.paper.claims import Claim, SingleClaim, Together, Trend
from fedbench.paper.items import Figure, Grid, Table
from fedbench.paper.levels import known_levels, refuse_flattening
from fedbench.paper.places import (
    RESERVED_AXES,
    RESERVED_LEVELS,
    RESERVED_METHODS,
    Level,
    Where,
    as_tuple,
    level_text,
    number_in,
    reading,
    require_free,
    stems,
)
from fedbench.paper.sides import where_of
from fedbench.spec import RunSpec

MOST_CELLS = 50_000  # of one grid, seeds included; the largest of the five papers has 1,760

Levels = dict[str, dict[Level, dict[str, Any]]]


class Named(Protocol):
    """The fields of a `Paper` that have names, or that name others."""

    levels: Levels
    axes: dict[str, str]
    grids: dict[str, Grid]
    tables: dict[str, Table]
    front: str
    figures: dict[str, Figure]
    claims: dict[str, Claim]


def check_names(paper: Named) -> None:
    """Raise `FedbenchError` on the first name in a grid, table or figure that does not exist."""
    _check_words(paper)
    for name, grid in paper.grids.items():
        for axis, labels in grid.axes.items():
            _check_axis(f"grids.{name}.axes", axis, labels, paper.levels)
        _check_size(f"grids.{name}", grid)
        wheres = [*grid.without, *(case.where for case in grid.cases)]
        for where in wheres:
            _check_where(f"grids.{name}", where, grid)
        refuse_flattening(f"grids.{name}", grid.settings, grid.axes, paper.levels)
    for key, table in paper.tables.items():
        _check_table(f"tables.{key}", table, paper)
        if table.printed and table.printed not in paper.tables:
            missing = unknown("table", table.printed, paper.tables)
            raise FedbenchError(f"tables.{key}.printed: {missing}")
    for key, figure in paper.figures.items():
        _check_figure(f"figures.{key}", figure, paper)
    if paper.front:
        _check_front(paper)


def _check_front(paper: Named) -> None:
    if paper.front not in paper.tables:
        raise FedbenchError(f"front: {unknown('table', paper.front, paper.tables)}")
    if (order := paper.tables[paper.front].order) != "best first":
        told = f"is ordered {order!r}; the front page shows one that is 'best first'"
        raise FedbenchError(f"front: table {quoted(paper.front)} {told}")


def _check_words(paper: Named) -> None:
    known = dict.fromkeys(axis for grid in paper.grids.values() for axis in grid.axes)
    for axis in (axis for axis in paper.axes if axis not in known):
        raise FedbenchError(f"axes: {unknown('axis', axis, known)}")


def drawn_axes(figure: Figure) -> tuple[str, ...]:
    """The axes that a figure shows: as panels, as hue, or along the bottom (its option `axis`)."""
    defaults = registry.find("figure", figure.kind.name).fields
    along = figure.kind.params.get("axis", defaults.get("axis"))
    return (*figure.panels, figure.hue, *([str(along)] if along else []))


def _check_axis(place: str, axis: str, labels: tuple[Level, ...], levels: Levels) -> None:
    _check_free(place, axis, labels)
    _check_apart(f"{place}.{axis}", labels)
    by_level = known_levels(axis, levels)
    if by_level is None:
        if axis not in RunSpec.model_fields:
            names = [*levels, *RunSpec.model_fields]
            raise FedbenchError(f"{place}: {unknown('axis', axis, names)}")
        return
    for label in labels:
        if "each" not in by_level and label not in by_level:
            raise FedbenchError(f"{place}.{axis}: {no_level(label, by_level)}")


def _check_free(place: str, axis: str, labels: tuple[Level, ...]) -> None:
    """Refuse an axis, or a level of one, of a name that has a meaning of its own."""
    with at(place):
        require_free("an axis", axis, RESERVED_AXES)
    with at(f"{place}.{axis}"):
        for label in labels:
            require_free(
                "a level", label, RESERVED_METHODS if axis == "method" else RESERVED_LEVELS
            )


def no_level(level: Level, levels: Collection[Level], kind: str = "level") -> FedbenchError:
    """The error for a level that is not there; if one differs in its quotes alone, that one."""
    for other in levels:
        number = number_in(other)
        same = level_text(other) == level_text(level)
        if same or (number is not None and number == number_in(level)):
            this, that = (
                quoted(x) if isinstance(x, str) else level_text(x) for x in (level, other)
            )
            return FedbenchError(f"no {kind} {this}; write it as it is listed: {that}")
    return unknown(kind, level_text(level), map(level_text, levels))


def _check_apart(place: str, values: tuple[Any, ...]) -> None:
    if not values:
        raise FedbenchError(f"{place}: the list is empty; at least one entry is needed")
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise FedbenchError(f"{place}: {quoted(twice[0])} is given twice; once is enough")
    numbers = {value for value in values if not isinstance(value, str | bool)}
    for text in (value for value in values if isinstance(value, str)):
        if number_in(text) in numbers:
            told = f"{quoted(text)} and {number_in(text):g} are the same level"
            raise FedbenchError(f"{place}: {told}; once is enough, without quotes")


def _check_size(place: str, grid: Grid) -> None:
    _check_apart(f"{place}.seeds", grid.seeds)
    cells = math.prod(len(labels) for labels in grid.axes.values()) * len(grid.seeds)
    if cells > MOST_CELLS:
        raise FedbenchError(
            f"{place}: {cells:,} cells, seeds included; a grid has at most {MOST_CELLS:,}"
        )


def _check_where(place: str, where: Where, grid: Grid) -> None:
    for axis, labels in where.items():
        if axis not in grid.axes:
            raise FedbenchError(f"{place}: {unknown('axis', axis, grid.axes)}")
        for label in as_tuple(labels):
            if label not in grid.axes[axis]:
                raise FedbenchError(f"{place}: {axis}: {no_level(label, grid.axes[axis])}")


def _check_table(place: str, table: Table, paper: Named) -> None:
    grid = _grid(place, table, paper)
    _check_axes(place, (*table.rows, *table.columns, *table.over), grid)
    _check_where(f"{place}.where", table.where, grid)
    _check_where(f"{place}.minus", dict(table.minus), grid)
    for level in table.controls:
        if level not in grid.axes.get("method", ()):
            names = map(str, grid.axes.get("method", ()))
            raise FedbenchError(f"{place}.controls: {unknown('method', level, names)}")
    _check_points(place, table.where, (*table.rows, *table.columns, *table.over), grid)


def _check_figure(place: str, figure: Figure, paper: Named) -> None:
    grid, used = _grid(place, figure, paper), drawn_axes(figure)
    _check_axes(place, (*figure.panels, *figure.over), grid)
    _check_axes(place, used, grid, apart=False)
    _check_where(f"{place}.where", figure.where, grid)
    _check_points(place, figure.where, (*used, *figure.over), grid)


def _grid(place: str, item: Table | Figure, paper: Named) -> Grid:
    if item.grid not in paper.grids:
        raise FedbenchError(f"{place}.grid: {unknown('grid', item.grid, paper.grids)}")
    return paper.grids[item.grid]


def _check_axes(place: str, axes: tuple[str, ...], grid: Grid, apart: bool = True) -> None:
    for axis in axes:
        if axis not in grid.axes and axis != "metric":
            raise FedbenchError(f"{place}: {unknown('axis', axis, [*grid.axes, 'metric'])}")
        if apart and axes.count(axis) > 1:
            raise FedbenchError(f"{place}: axis '{axis}' is named twice")


def _check_points(place: str, where: Where, used: Iterable[str], grid: Grid) -> None:
    """Refuse a table or figure whose cells would mix several levels of an axis."""
    for axis, levels in grid.axes.items():
        if axis not in used and len(as_tuple(where.get(axis, levels))) > 1:
            raise FedbenchError(
                f"{place}: axis '{axis}' has several levels and is not shown; name it as row, "
                "column, panel or hue, or choose one level in 'where'"
            )


def check_claims(paper: Named) -> None:
    """Raise `FedbenchError` on the first name in a claim that does not exist."""
    for name, claim in paper.claims.items():
        at = f"claims.{name}"
        items = [*paper.tables, *paper.figures]
        for key in claim.shown_in:
            if key not in items:
                raise FedbenchError(f"{at}.shown_in: {unknown('table or figure', key, items)}")
        if isinstance(claim, Together):
            _check_members(at, claim, paper.claims)
        else:
            _check_comparison(at, claim, paper)


def kept_claims(claims: dict[str, Claim], tables: set[str], grids: set[str]) -> dict[str, Claim]:
    """The claims about some tables and grids, and the claims that join only these."""
    about = {
        name: claim
        for name, claim in claims.items()
        if not isinstance(claim, Together) and (claim.table in tables or claim.grid in grids)
    }
    return {
        name: claim
        for name, claim in claims.items()
        if name in about or (isinstance(claim, Together) and about.keys() >= set(claim.claims))
    }


def _check_members(at: str, claim: Together, claims: dict[str, Claim]) -> None:
    single = {name for name, other in claims.items() if not isinstance(other, Together)}
    for name in claim.claims:
        if name not in single:
            raise FedbenchError(f"{at}.claims: {unknown('claim', name, single)}")


def _check_comparison(at: str, claim: SingleClaim, paper: Named) -> None:
    if claim.table and claim.table not in paper.tables:
        raise FedbenchError(f"{at}.table: {unknown('table', claim.table, paper.tables)}")
    if claim.table and paper.tables[claim.table].minus:
        raise FedbenchError(
            f"{at}.table: {claim.table} shows differences ('minus'); name its grid instead"
        )
    if claim.grid and claim.grid not in paper.grids:
        raise FedbenchError(f"{at}.grid: {unknown('grid', claim.grid, paper.grids)}")
    grid = paper.grids[claim.grid or paper.tables[claim.table].grid]
    free = any("/" in metric for metric in claim.metrics)
    named = [("where", claim.where), *((name, where_of(side)) for name, side in claim.sides())]
    named += [("along", dict(claim.along))] if isinstance(claim, Trend) else []
    for field, where in named:
        for axis, levels in where.items():
            _check_levels(f"{at}.{field}", grid, axis, as_tuple(levels), free)


def _check_levels(at: str, grid: Grid, axis: str, levels: tuple[Level, ...], free: bool) -> None:
    """Refuse unknown levels; with `free`, an unknown axis may be a column of a probe's table."""
    if axis == "metric":
        for level in levels:
            reading(str(level))
    elif axis in grid.axes:
        for level in levels:
            if level not in grid.axes[axis] and not stems(level, grid.axes[axis]):
                raise FedbenchError(f"{at}.{axis}: {no_level(level, grid.axes[axis])}")
    elif not free:
        raise FedbenchError(f"{at}: {unknown('axis', axis, [*grid.axes, 'metric'])}")
