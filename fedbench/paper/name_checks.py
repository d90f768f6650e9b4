"""Refuses a paper's file that names what it lacks, or tables, figures and claims of nothing."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, at, quoted, require_among
from fedbench.paper.axis_levels import Levels, given, known_levels, level_settings
from fedbench.paper.claims import Claim, SingleClaim, Together, faults
from fedbench.paper.metrics import Metric, columns_of
from fedbench.paper.tables_and_figures import Axes, Figure, Grid, Table
from fedbench.paper.yaml_notation import as_tuple, level_text, no_level, number_in, reading, stems
from fedbench.spec import RunSpec
from fedbench.spec.compositions import RESERVED_LEVELS, RESERVED_METHODS, require_free

if TYPE_CHECKING:
    from fedbench.paper.paper import Paper

# Axes with a meaning of their own: an axis becomes a column of the frames that figures are drawn
# from, beside these.
_RESERVED_AXES = {
    "metric": "tables, figures and claims name what is measured by it",
    "seed": "figures name the seed of a run by it",
    "run": "figures name the id of a run by it",
    "value": "figures name what a run measured by it",
}
_OF_PAGE = "claims own findings side-by-side figures methods deviations runs searches ranks"
_SECTIONS = dict.fromkeys(_OF_PAGE.split(), "the paper's page has a section of that name")
MOST_CELLS = 50_000  # of one grid, seeds included; the largest of the five papers has 1,760


def check_references(paper: "Paper") -> None:
    """Raise `FedbenchError` on the first name in the file that does not exist."""
    axes = dict.fromkeys(axis for grid in paper.grids.values() for axis in grid.axes)
    for axis in paper.axes:
        require_among("axes", "axis", axis, axes)
    for name, grid in paper.grids.items():
        _check_grid(f"grids.{name}", grid, paper.levels)
        dotted = {key for key in paper.settings if "." in key}  # which are set after all fields
        _refuse_flattening("settings", grid, paper.levels, dotted)
    keys = [key for key, _ in paper.everything()]
    for key in keys:
        require_free("a table or figure", key, _SECTIONS)
        if keys.count(key) > 1:
            told = "a table or figure of that name is there already; rename one of them"
            raise FedbenchError(f"{key}: {told}")
    for key, item in paper.items():
        _check_item(f"{'tables' if isinstance(item, Table) else 'figures'}.{key}", item, paper)
    for key, facts in paper.facts.items():
        with at(f"facts.{key}"):
            registry.require_known("facts", facts.kind.name, facts.kind.params)
    for name, claim in paper.claims.items():
        _check_claim(f"claims.{name}", claim, paper)
    _check_first_page(paper)


def _check_first_page(paper: "Paper") -> None:
    if paper.headline:
        known = {**paper.claims, **paper.figures}
        require_among("headline", "claim or figure", paper.headline, known)
    if paper.front:
        require_among("front", "table", paper.front, paper.tables)
        if (order := paper.tables[paper.front].order) != "best first":
            told = f"is ordered {order!r}; the front page shows one that is 'best first'"
            raise FedbenchError(f"front: table {quoted(paper.front)} {told}")


def _check_grid(place: str, grid: Grid, levels: Levels) -> None:
    for axis in grid.axes:
        _check_axis(f"{place}.axes", axis, grid, levels)
    _check_apart(f"{place}.seeds", grid.seeds)
    cells = math.prod(len(labels) for labels in grid.axes.values()) * len(grid.seeds)
    if cells > MOST_CELLS:
        told = f"{cells:,} cells, seeds included; a grid has at most {MOST_CELLS:,}"
        raise FedbenchError(f"{place}: {told}")
    for where in (*grid.without, *(case.where for case in grid.cases)):
        check_where(place, where, grid.axes)
    _refuse_flattening(f"{place}.settings", grid, levels, grid.settings)


def _refuse_flattening(place: str, grid: Grid, levels: Levels, keys: Iterable[str]) -> None:
    """Refuse a setting of a grid or paper that would overwrite what an axis's levels differ in."""
    for axis, labels in grid.axes.items():
        of_levels = [level_settings(levels, axis, label) for label in labels]
        for key in keys:
            values = [given(each, key) for each in of_levels]
            if "." in key:  # only the levels that have the part can differ in its parameter
                values = [value for value in values if value]
            if any(value != values[0] for value in values):
                told = f"{key} would overwrite what the levels of the axis '{axis}' differ in"
                raise FedbenchError(f"{place}: {told}; leave it out, or set it in a case")


def _check_axis(place: str, axis: str, grid: Grid, levels: Levels) -> None:
    by_level = known_levels(axis, levels)
    with at(place):
        require_free("an axis", axis, _RESERVED_AXES)
        if by_level is None:
            require_among("", "axis", axis, [*levels, *RunSpec.model_fields])
    with at(f"{place}.{axis}"):
        for label in grid.axes[axis]:
            reserved = RESERVED_METHODS if axis == "method" else RESERVED_LEVELS
            require_free("a level", label, reserved)
            if by_level is not None and "each" not in by_level and label not in by_level:
                raise no_level(label, by_level)
    _check_apart(f"{place}.{axis}", grid.axes[axis])


def _check_apart(place: str, values: tuple[Any, ...]) -> None:
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise FedbenchError(f"{place}: {quoted(twice[0])} is given twice; once is enough")
    numbers = {value for value in values if not isinstance(value, str | bool)}
    for text in (value for value in values if isinstance(value, str)):
        if number_in(text) in numbers:
            told = f"{quoted(text)} and {number_in(text):g} are the same level"
            raise FedbenchError(f"{place}: {told}; once is enough, without quotes")


def check_where(
    place: str, where: Mapping[str, Any], axes: Axes, of_claim: Collection[str] = ()
) -> None:
    """Refuse unknown axes and levels; of what claims may name beside axes, any value that is read.

    of_claim: 'metric', and columns of tables. With it a level may be a pattern such as '*+ASD'.
    """
    for axis, labels in where.items():
        levels = axes.get(axis, ())
        if not as_tuple(labels):
            raise FedbenchError(f"{place}.{axis}: [] is not allowed: name at least one level")
        if of_claim and axis == "metric":
            for metric in as_tuple(labels):
                reading(str(metric))
        for label in as_tuple(labels) if levels else ():
            if label not in levels and not (of_claim and stems(label, levels)):
                raise FedbenchError(f"{place}.{axis}: {no_level(label, levels)}")
        if not levels:
            require_among(place, "axis", axis, [*axes, *of_claim])


def _check_item(place: str, item: Table | Figure, paper: "Paper") -> None:
    require_among(f"{place}.grid", "grid", item.grid, paper.grids)
    grid = paper.grids[item.grid]
    with at(place):
        for metric in item.metrics:
            if any("/" in column for column in reading(metric).columns):
                raise FedbenchError(f"'{metric}' is a table's; only claims read columns of these")
    check_where(f"{place}.where", item.where, grid.axes)
    if isinstance(item, Table):
        once, again = (*item.rows, *item.columns, *item.over), list[str]()
        _check_table(place, item, grid, paper)
    else:  # panels may be the hue, or stand along the bottom, too
        once, again = (*item.panels, *item.over), _again(place, item, grid)
    for axis in (*once, *again):
        also = [] if axis in item.over else ["metric"]  # no mean is taken over metrics
        require_among(place, "axis", axis, [*grid.axes, *also])
        if once.count(axis) > 1:
            raise FedbenchError(f"{place}: axis '{axis}' is named twice")
    for axis, levels in grid.axes.items():
        if axis not in (*once, *again) and len(as_tuple(item.where.get(axis, levels))) > 1:
            told = f"axis '{axis}' has several levels and is not shown"
            raise FedbenchError(f"{place}: {told}; choose one level in 'where', or show it")


def _check_table(place: str, table: Table, grid: Grid, paper: "Paper") -> None:
    _check_apart(f"{place}.metrics", table.metrics)
    check_where(f"{place}.minus", table.minus, grid.axes)
    for level in table.controls:
        require_among(f"{place}.controls", "method", level, grid.axes.get("method", ()))
    if table.order == "best first" and not Metric(table.metrics[0]).is_ranked:
        told = f"'{table.metrics[0]}' is no metric of which more or less is better"
        raise FedbenchError(f"{place}.order = 'best first': {told}; list another one first")
    if table.printed:
        require_among(f"{place}.printed", "table", table.printed, paper.tables)


def _again(place: str, figure: Figure, grid: Grid) -> list[str]:
    """The axes that a figure has as its hue and along the bottom, once its kind is checked."""
    kind = figure.kind
    with at(place):
        registry.require_known("figure", kind.name, kind.params)
    moments = [metric for metric in figure.metrics if "@" in metric]
    if kind.name == "curves" and moments:
        told = f"metric: '{moments[0]}' names a moment, but curves show every round"
        raise FedbenchError(f"{place}: {told}; write '{moments[0].partition('@')[0]}'")
    if len(figure.metrics) != 1 and "metric" not in (*figure.panels, figure.hue):
        raise FedbenchError(f"{place}: several metrics need 'metric' as a panel or as the hue")
    hues = [str(level) for level in grid.axes.get(figure.hue, ())]
    lists = [kind.params.get(key, ()) for key in ("untested", "ours")]
    named = [kind.params.get("base"), *(x for y in lists if not isinstance(y, str) for x in y)]
    for level in filter(None, named if hues else ()):
        require_among(f"{place}: kind {kind.name}", "level", str(level), hues)
    along = kind.params.get("axis", registry.find("figure", kind.name).fields.get("axis"))
    if along == "metric":
        raise FedbenchError(f"{place}: kind {kind.name}: axis = 'metric' has no levels in order")
    return [figure.hue, *([str(along)] if along else [])]


def _check_claim(place: str, claim: Claim, paper: "Paper") -> None:
    for key in claim.shown_in:
        items = [*paper.tables, *paper.figures]
        require_among(f"{place}.shown_in", "table or figure", key, items)
    if isinstance(claim, Together):
        single = [name for name, other in paper.claims.items() if not isinstance(other, Together)]
        for name in claim.claims:
            require_among(f"{place}.claims", "claim", name, single)
        return
    for fault in faults(claim):
        raise FedbenchError(f"{place}: {fault}")
    source, known = ("table", paper.tables) if claim.table else ("grid", paper.grids)
    require_among(f"{place}.{source}", source, claim.table or claim.grid, known)
    if claim.table and paper.tables[claim.table].minus:
        raise FedbenchError(f"{place}.table: {claim.table} shows differences; name its grid")
    grid = paper.grids[claim.grid or paper.tables[claim.table].grid]
    columns = {x for m in claim.metrics if "/" in m for x in columns_of(m.partition("/")[0])}
    own = {"metrics": {"metric": claim.metrics}} if claim.metrics else {}
    for field, where in (claim.named() | own).items():
        check_where(f"{place}.{field}", where, grid.axes, {"metric", *columns})
    _check_shown(place, claim, paper.tables.get(claim.table))


def _check_shown(place: str, claim: SingleClaim, table: Table | None) -> None:
    """Refuse levels that a claim names and its table does not show, and metrics named twice."""
    over, shown = (table.over, table.where) if table else ((), {})
    for field, where in claim.named().items():
        if claim.metrics and "metric" in where:
            raise FedbenchError(f"{place}.metrics: {field} names 'metric' too; keep one of the two")
        for axis, levels in where.items():
            told, there = "", as_tuple(shown.get(axis, levels))
            lost = [x for x in as_tuple(levels) if x not in there and not stems(x, there)]
            if axis in over:
                told = f"takes the mean over '{axis}'"
            elif lost:
                told = f"does not show {axis} = {level_text(lost[0])}"
            if told:
                raise FedbenchError(f"{place}.{field}: table {claim.table} {told}; name its grid")
