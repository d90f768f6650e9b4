"""Whether the axes, levels and grids that a paper's file names are there, and none is forgotten."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, quoted, unknown
from fedbench.level import Level, Where, as_tuple
from fedbench.levels import known_levels, refuse_flattening
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from fedbench.paper import Figure, Grid, Paper, Table

MOST_CELLS = 50_000  # of one grid, seeds included; the largest of the five papers has 1,760

Levels = dict[str, dict[Level, dict[str, Any]]]


def check_names(paper: "Paper") -> None:
    """Raise `FedbenchError` on the first name that the paper does not have."""
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


def drawn_axes(figure: "Figure") -> tuple[str, ...]:
    """Panels, hue, and the axis that the kind's option of that name puts along the bottom."""
    usual = registry.find("figure", figure.kind.name).fields
    along = figure.kind.params.get("axis", usual.get("axis"))
    return (*figure.panels, figure.hue, *([str(along)] if along else []))


def _check_axis(place: str, axis: str, labels: tuple[Level, ...], levels: Levels) -> None:
    _check_apart(f"{place}.{axis}", labels)
    known = known_levels(axis, levels)
    if known is None:
        if axis not in RunSpec.model_fields:
            names = [*levels, *RunSpec.model_fields]
            raise FedbenchError(f"{place}: {unknown('axis', axis, names)}")
        return
    for label in labels:
        if "each" not in known and label not in known:
            raise FedbenchError(f"{place}.{axis}: {unknown('level', label, map(str, known))}")


def _check_apart(place: str, values: tuple[Any, ...]) -> None:
    if not values:
        raise FedbenchError(f"{place}: at least one is needed")
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise FedbenchError(f"{place}: {quoted(twice[0])} is given twice")


def _check_size(place: str, grid: "Grid") -> None:
    _check_apart(f"{place}.seeds", grid.seeds)
    cells = math.prod(len(labels) for labels in grid.axes.values()) * len(grid.seeds)
    if cells > MOST_CELLS:
        raise FedbenchError(
            f"{place}: {cells:,} cells, seeds included; a grid has at most {MOST_CELLS:,}"
        )


def _check_where(place: str, where: Where, grid: "Grid") -> None:
    for axis, labels in where.items():
        if axis not in grid.axes:
            raise FedbenchError(f"{place}: {unknown('axis', axis, grid.axes)}")
        for label in as_tuple(labels):
            if label not in grid.axes[axis]:
                names = map(str, grid.axes[axis])
                raise FedbenchError(f"{place}: {axis}: {unknown('level', label, names)}")


def _check_table(place: str, table: "Table", paper: "Paper") -> None:
    grid = _grid(place, table, paper)
    _check_axes(place, (*table.rows, *table.columns, *table.over), grid)
    _check_where(f"{place}.where", table.where, grid)
    _check_where(f"{place}.minus", dict(table.minus), grid)
    for level in table.controls:
        if level not in grid.axes.get("method", ()):
            names = map(str, grid.axes.get("method", ()))
            raise FedbenchError(f"{place}.controls: {unknown('method', level, names)}")
    _check_points(place, table.where, (*table.rows, *table.columns, *table.over), grid)


def _check_figure(place: str, figure: "Figure", paper: "Paper") -> None:
    grid, used = _grid(place, figure, paper), drawn_axes(figure)
    _check_axes(place, figure.panels, grid)
    _check_axes(place, used, grid, apart=False)
    _check_where(f"{place}.where", figure.where, grid)
    _check_points(place, figure.where, used, grid)


def _grid(place: str, item: "Table | Figure", paper: "Paper") -> "Grid":
    if item.grid not in paper.grids:
        raise FedbenchError(f"{place}.grid: {unknown('grid', item.grid, paper.grids)}")
    return paper.grids[item.grid]


def _check_axes(place: str, axes: tuple[str, ...], grid: "Grid", apart: bool = True) -> None:
    for axis in axes:
        if axis not in grid.axes and axis != "metric":
            raise FedbenchError(f"{place}: {unknown('axis', axis, [*grid.axes, 'metric'])}")
        if apart and axes.count(axis) > 1:
            raise FedbenchError(f"{place}: axis '{axis}' is named twice")


def _check_points(place: str, where: Where, used: Iterable[str], grid: "Grid") -> None:
    """Refuse a table or figure whose cells would mix several levels of an axis."""
    for axis, levels in grid.axes.items():
        if axis not in used and len(as_tuple(where.get(axis, levels))) > 1:
            raise FedbenchError(f"{place}: axis '{axis}' is neither shown nor set by 'where'")
