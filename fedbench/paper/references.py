"""Refuses a paper's file that refers to an axis, level, grid, table or claim that it lacks."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, quoted, require_among, unknown
from fedbench.paper.claims import Claim, SingleClaim, Together, Trend, where_of
from fedbench.paper.items import Figure, Grid, Table
from fedbench.paper.levels import Levels, known_levels, refuse_flattening
from fedbench.paper.notation import (
    RESERVED_AXES,
    Level,
    Where,
    as_tuple,
    level_text,
    number_in,
    reading,
    stems,
)
from fedbench.spec import RunSpec
from fedbench.spec.compositions import RESERVED_LEVELS, RESERVED_METHODS, require_free

MOST_CELLS = 50_000  # of one grid, seeds included; the largest of the five papers has 1,760


class References(Protocol):
    """The fields of a `Paper` that have names, or that refer to others by name."""

    levels: dict[str, dict[Level, dict[str, Any]]]
    axes: dict[str, str]
    grids: dict[str, Grid]
    tables: dict[str, Table]
    front: str
    headline: str
    figures: dict[str, Figure]
    claims: dict[str, Claim]


def check_references(paper: References) -> None:
    """Raise `FedbenchError` on the first name in the file that does not exist."""
    axes = dict.fromkeys(axis for grid in paper.grids.values() for axis in grid.axes)
    for axis in paper.axes:
        require_among("axes", "axis", axis, axes)
    for name, grid in paper.grids.items():
        _check_grid(f"grids.{name}", grid, paper.levels)
    for key, table in paper.tables.items():
        _check_table(f"tables.{key}", table, paper)
    for key, figure in paper.figures.items():
        _check_figure(f"figures.{key}", figure, paper)
    if paper.front:
        _check_front(paper)
    if paper.headline:
        known = {**paper.claims, **paper.figures}
        require_among("headline", "claim or figure", paper.headline, known)
    for name, claim in paper.claims.items():
        _check_claim(f"claims.{name}", claim, paper)


def _check_grid(place: str, grid: Grid, levels: Levels) -> None:
    for axis, labels in grid.axes.items():
        _check_axis(f"{place}.axes", axis, labels, levels)
    _check_apart(f"{place}.seeds", grid.seeds)
    cells = math.prod(len(labels) for labels in grid.axes.values()) * len(grid.seeds)
    if cells > MOST_CELLS:
        raise FedbenchError(
            f"{place}: {cells:,} cells, seeds included; a grid has at most {MOST_CELLS:,}"
        )
    for where in (*grid.without, *(case.where for case in grid.cases)):
        _check_where(place, where, grid)
    refuse_flattening(place, grid.settings, grid.axes, levels)


def _check_axis(place: str, axis: str, labels: tuple[Level, ...], levels: Levels) -> None:
    with at(place):
        require_free("an axis", axis, RESERVED_AXES)
    with at(f"{place}.{axis}"):
        for label in labels:
            reserved = RESERVED_METHODS if axis == "method" else RESERVED_LEVELS
            require_free("a level", label, reserved)
    _check_apart(f"{place}.{axis}", labels)
    by_level = known_levels(axis, levels)
    if by_level is None:
        require_among(place, "axis", axis, [*levels, *RunSpec.model_fields])
        return
    for label in labels:
        if "each" not in by_level and label not in by_level:
            raise FedbenchError(f"{place}.{axis}: {no_level(label, by_level)}")


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


def _check_where(
    place: str, where: Mapping[str, Any], grid: Grid, *, claim: bool = False, free: bool = False
) -> None:
    """Refuse unknown axes and levels.

    A claim may also name metrics, and several levels by a star; with `free` an unknown axis may be
    a column of a probe's table.
    """
    for axis, labels in where.items():
        levels = grid.axes.get(axis, ())
        if claim and axis == "metric":
            for metric in as_tuple(labels):
                reading(str(metric))
        elif not levels and not free:
            require_among(place, "axis", axis, [*grid.axes, *(["metric"] if claim else [])])
        for label in as_tuple(labels) if levels else ():
            if label not in levels and not (claim and stems(label, levels)):
                raise FedbenchError(f"{place}.{axis}: {no_level(label, levels)}")


def _check_table(place: str, table: Table, paper: References) -> None:
    grid, used = _grid(place, table, paper), (*table.rows, *table.columns, *table.over)
    _check_axes(place, used, grid)
    _check_where(f"{place}.where", table.where, grid)
    _check_where(f"{place}.minus", table.minus, grid)
    for level in table.controls:
        require_among(f"{place}.controls", "method", level, grid.axes.get("method", ()))
    _check_points(place, table.where, used, grid)
    if table.printed:
        require_among(f"{place}.printed", "table", table.printed, paper.tables)


def _check_figure(place: str, figure: Figure, paper: References) -> None:
    grid, used = _grid(place, figure, paper), drawn_axes(figure)
    _check_axes(place, (*figure.panels, *figure.over), grid)
    _check_axes(place, used, grid, apart=False)
    _check_where(f"{place}.where", figure.where, grid)
    _check_points(place, figure.where, (*used, *figure.over), grid)


def drawn_axes(figure: Figure) -> tuple[str, ...]:
    """The axes that a figure shows: as panels, as hue, or along the bottom (its option `axis`)."""
    defaults = registry.find("figure", figure.kind.name).fields
    along = figure.kind.params.get("axis", defaults.get("axis"))
    return (*figure.panels, figure.hue, *([str(along)] if along else []))


def _grid(place: str, item: Table | Figure, paper: References) -> Grid:
    require_among(f"{place}.grid", "grid", item.grid, paper.grids)
    return paper.grids[item.grid]


def _check_axes(place: str, axes: tuple[str, ...], grid: Grid, apart: bool = True) -> None:
    for axis in axes:
        require_among(place, "axis", axis, [*grid.axes, "metric"])
        if apart and axes.count(axis) > 1:
            raise FedbenchError(f"{place}: axis '{axis}' is named twice")


def _check_points(place: str, where: Where, used: Iterable[str], grid: Grid) -> None:
    for axis, levels in grid.axes.items():
        if axis not in used and len(as_tuple(where.get(axis, levels))) > 1:
            raise FedbenchError(
                f"{place}: axis '{axis}' has several levels and is not shown; name it as row, "
                "column, panel or hue, or choose one level in 'where'"
            )


def _check_front(paper: References) -> None:
    require_among("front", "table", paper.front, paper.tables)
    if (order := paper.tables[paper.front].order) != "best first":
        told = f"is ordered {order!r}; the front page shows one that is 'best first'"
        raise FedbenchError(f"front: table {quoted(paper.front)} {told}")


def _check_claim(place: str, claim: Claim, paper: References) -> None:
    for key in claim.shown_in:
        items = [*paper.tables, *paper.figures]
        require_among(f"{place}.shown_in", "table or figure", key, items)
    if not isinstance(claim, Together):
        _check_comparison(place, claim, paper)
        return
    single = [name for name, other in paper.claims.items() if not isinstance(other, Together)]
    for name in claim.claims:
        require_among(f"{place}.claims", "claim", name, single)


def _check_comparison(place: str, claim: SingleClaim, paper: References) -> None:
    if claim.table:
        require_among(f"{place}.table", "table", claim.table, paper.tables)
        if paper.tables[claim.table].minus:
            raise FedbenchError(
                f"{place}.table: {claim.table} shows differences ('minus'); name its grid instead"
            )
    else:
        require_among(f"{place}.grid", "grid", claim.grid, paper.grids)
    grid = paper.grids[claim.grid or paper.tables[claim.table].grid]
    free = any("/" in metric for metric in claim.metrics)
    named = [("where", claim.where), *((name, where_of(side)) for name, side in claim.sides())]
    named += [("along", dict(claim.along))] if isinstance(claim, Trend) else []
    for field, where in named:
        _check_where(f"{place}.{field}", where, grid, claim=True, free=free)


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
