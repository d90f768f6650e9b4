"""The cells of a paper's table, by plan, printed numbers and runs, and how they are laid out."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt
from typing import NamedTuple

import pandas as pd

from fedbench.base.errors import FedbenchError
from fedbench.base.grouping import grouped
from fedbench.paper import history_metrics
from fedbench.paper.metrics import Metric
from fedbench.paper.notation import Level, Reading, reading
from fedbench.paper.tables_and_figures import Table
from fedbench.plan.grid_points import Substitutions
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.printed_numbers import Printed, axes, place_of
from fedbench.report.tables.cells import Pooled, Run, Status, TableCell, in_order, mark_best
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import GuessOf, declared
from fedbench.report.values.numbers import axis_name, fixed, level_name, point_name

Point = tuple[Level, ...]
Names = tuple[str, ...]
_ROOM = 6  # how many columns a page has room for
_BLOCKS = {
    "printed": "Printed in the paper",
    "measured": "Measured here",
    "difference": "Difference",
    "controls": "Controls, measured here",
}


class Row(NamedTuple):
    """One row: headings, and cells by column."""

    heads: tuple[tuple[str, int], ...]  # each with how many rows it spans; 0: written above
    cells: dict[Point, TableCell]
    control: bool


class Group(NamedTuple):
    """Rows under one title."""

    title: str
    rows: tuple[Row, ...]
    substituted: Substitutions  # in all of their cells; empty if the cells differ in it

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [cell for row in self.rows for cell in row.cells.values()]


class Block(NamedTuple):
    """Columns of one kind: 'printed', 'measured', 'difference' or 'controls'."""

    kind: str
    title: str
    columns: dict[Point, str]  # their labels, by one level per column axis


@dataclass(frozen=True)
class TableLayout:
    """A whole table."""

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    marks: dict[Substitutions, str]  # of single cells, each with the mark that its cells carry
    pooled: tuple[str, ...]  # names of cells with the deviation over seeds that they share
    absent: tuple[str, ...] = ()  # rows of a leaderboard that are left out: no run is finished

    @property
    def notes(self) -> list[tuple[str, Substitutions]]:
        """What was substituted, each once, after the names of its groups of rows or its mark."""
        swapped = [group for group in self.groups if group.substituted]
        alike = grouped(swapped, lambda group: group.substituted).items()
        named = [(", ".join(x.title or "All rows" for x in of), found) for found, of in alike]
        return [*named, *((f"({mark})", found) for found, mark in self.marks.items())]

    @property
    def is_wide(self) -> bool:
        """Whether a page has no room for all blocks side by side."""
        return sum(len(block.columns) for block in self.blocks) > _ROOM

    @property
    def says_printed(self) -> bool:
        """Whether printed numbers stand in measured cells, as there is no room for their block."""
        return self.is_wide and any(block.kind == "printed" for block in self.blocks)

    @property
    def in_page(self) -> tuple[Block, ...]:
        """The blocks that an HTML page shows."""
        apart = ("printed", "difference") if self.is_wide else ()
        return tuple(block for block in self.blocks if block.kind not in apart)


def table_cells(
    plan: Plan,
    at: tuple[str, str],
    frame: pd.DataFrame,
    printed: Printed,
    tuned_near_chance: frozenset[str] = frozenset(),
    guess_of: GuessOf = declared,
) -> list[TableCell]:
    """All cells of the table at the keys (paper, table), in the grid's order, the best marked."""
    paper, table = plan.papers[at[0]], plan.papers[at[0]].tables[at[1]]
    planned = plan.select(at[0], table.grid, table.where)
    groups = grouped(planned, lambda cell: str(_coords(cell, table)))
    run_of = _runs_of(plan, at, frame)
    found: list[TableCell] = []
    for metric in table.metrics:
        factor, asked = Metric(metric).factor(table), reading(metric, table.at)
        labels = Metric(metric).is_of_labels and not table.minus
        values = {
            run: x * factor for run, x in history_metrics.values(frame, metric, table.at).items()
        }
        for cells in groups.values():
            place = place_of(at[1], paper, cells[0].coords, metric)
            coords = _coords(cells[0], table) | {"metric": metric}
            guess = guess_of(cells[0].run.dataset)
            found.append(
                TableCell(
                    place=place,
                    coords=coords,
                    control=coords.get("method") in table.controls,
                    printed=printed.numbers.get(place),
                    runs=tuple(run_of(cell, values, asked) for cell in cells),
                    substituted=cells[0].substituted,
                    near=guess.limit * factor if guess and labels else None,
                    tuned_near_chance=any(cell.run_id in tuned_near_chance for cell in cells),
                )
            )
    found = mark_best(found, table)
    return found if table.over else _with_pooled(found)  # else repeats are not the seeds alone


def _coords(cell: Cell, table: Table) -> dict[str, Level]:
    return {axis: level for axis, level in cell.coords.items() if axis not in table.over}


def _runs_of(
    plan: Plan, at: tuple[str, str], frame: pd.DataFrame
) -> Callable[[Cell, dict[str, float], Reading], Run]:
    """What tells the run of a planned cell, by a metric's values and how it is read."""
    (paper, key), table = at, plan.papers[at[0]].tables[at[1]]
    states, tuned = collected_frames.states(frame), collected_frames.tuned(frame)
    every = plan.select(paper, table.grid, {}) if table.minus else ()
    run_at = {(str(cell.coords), cell.seed): cell.run_id for cell in every}

    def run(cell: Cell, values: dict[str, float], asked: Reading) -> Run:
        name, at_base = cell.run_id, str(cell.coords | table.minus)
        value, base = values.get(name), run_at.get((at_base, cell.seed))  # it is subtracted
        if table.minus and base is None:
            where = f"no run at {at_base}, seed {cell.seed}"
            raise FedbenchError(f"{paper}: tables.{key}.minus: {where}")
        if base and value is not None:  # infinite is a target that was not reached
            value = None if isinf(values.get(base, inf)) else value - values[base]
        if cell.run.rounds < asked.needs:
            value, status = None, Status.TOO_SHORT
        elif not {name, base or name} <= states.keys():
            status = Status.MISSING
        else:
            status = Status.NO_NUMBER if value is None else Status(states[name].status)
        end = states[name].round if status is Status.DIVERGED else cell.run.rounds
        over = ", ".join(point_name(axis, cell.coords[axis]) for axis in table.over)
        return Run(name, cell.seed, status, value, tuned.get(name, ""), over, end)

    return run


def _with_pooled(cells: list[TableCell]) -> list[TableCell]:
    """Each cell that has a deviation with the one that it shares with the others of its contest.

    In a table with one method, with the cells of its metric and data set. The very same runs, such
    as of a method under two names, count once. Diverged runs vary by tens of points, and have none.
    """
    alone = len({cell.place.method for cell in cells}) == 1
    keys = [(c.place.dataset, c.place.metric) if alone else c.contest for c in cells]
    groups: dict[tuple[str, ...], dict[frozenset[str], tuple[float, int]]] = {}
    for key, cell in zip(keys, cells, strict=True):
        if cell.spread:
            groups.setdefault(key, {})[frozenset(run.id for run in cell.runs)] = cell.spread
    shared = {}
    for place, spreads in groups.items():
        if len(spreads) > 1:
            freedom = sum(seeds - 1 for _, seeds in spreads.values())
            squares = sum((seeds - 1) * std**2 for std, seeds in spreads.values())
            shared[place] = Pooled(sqrt(squares / freedom), freedom, len(spreads))
    return [
        replace(cell, pooled=shared.get(key) if cell.spread else None)
        for key, cell in zip(keys, cells, strict=True)
    ]


def arrange(table: Table, cells: list[TableCell]) -> TableLayout:
    """Lay out the cells, grouped by the first row axis if there are two or more, as papers do."""
    (rows, columns), absent = axes(table), tuple[str, ...]()
    first, inner = (rows[:1], rows[1:]) if len(rows) > 1 else ((), rows)
    begun = {_point(cell, rows) for cell in cells if len(cell.missing) < len(cell.runs)}
    if begun and table.order != "as listed":  # there, rows without a finished run are left out
        absent = tuple(_absent(first, inner, cells, begun))
        cells = [cell for cell in cells if _point(cell, rows) in begun]
    ordered = in_order(table, cells) if "method" in first else cells
    parts = grouped(ordered, lambda cell: _point(cell, first))
    groups = tuple(
        _group(label_of(part[0], first), in_order(table, part), inner, columns)
        for part in parts.values()
    )
    names = map(axis_name, inner)
    heads = tuple(name[0].upper() + name[1:] if len(name) > 1 else name for name in names)
    labels: dict[str, dict[Point, str]] = {kind: {} for kind in _BLOCKS}
    for cell in in_order(table, cells) if "method" in columns else cells:
        label = {_point(cell, columns): label_of(cell, columns)}
        labels["controls" if "method" in columns and cell.control else "measured"] |= label
        labels["printed"] |= {} if cell.printed is None else label
        labels["difference"] |= {} if cell.difference is None else label
    blocks = tuple(Block(kind, _BLOCKS[kind], of) for kind, of in labels.items() if of)
    mixed = [cell for group in groups if not group.substituted for cell in group.cells]
    alone = (cell.substituted for cell in mixed)
    marks = {x: str(n) for n, x in enumerate(dict.fromkeys(filter(None, alone)), start=1)}
    return TableLayout(heads, blocks, groups, marks, tuple(_pooled(table, cells)), absent)


def _pooled(table: Table, cells: list[TableCell]) -> Iterator[str]:
    """'α = 0.2: ± 1.93 (20)' for each deviation; the name has what its cells alone share."""
    having = [cell for cell in cells if cell.pooled]  # equal numbers may be others', ids not
    for group in grouped(having, lambda cell: id(cell.pooled)).values():
        apart = [x for x in group[0].coords if _are_equal(x, group) and not _are_equal(x, cells)]
        name = label_of(group[0], tuple(apart))
        if pooled := group[0].pooled:
            number = f"± {fixed(pooled.std, table.digits)} ({pooled.freedom})"
            yield f"{name}: {number}" if name else number


def _are_equal(axis: str, cells: list[TableCell]) -> bool:
    return len({str(cell.coords[axis]) for cell in cells}) == 1


def _point(cell: TableCell, names: Names) -> Point:
    return tuple(cell.coords[axis] for axis in names)


def label_of(cell: TableCell, names: Names) -> str:
    """The cell's levels of the axes `names` as a heading: 'MNIST, α = 0.1'."""
    return ", ".join(point_name(axis, cell.coords[axis]) for axis in names)


def _group(title: str, cells: list[TableCell], inner: Names, columns: Names) -> Group:
    """One row per combination of levels of the `inner` axes."""
    rows = grouped(cells, lambda cell: _point(cell, inner))
    spans = Counter(point[:depth] for point in rows for depth in range(1, len(inner) + 1))
    # axis by axis, levels in the order in which they appear
    levels = [list(dict.fromkeys(cell.coords[axis] for cell in cells)) for axis in inner]
    drawn = []
    for point in sorted(rows, key=lambda point: [*map(list.index, levels, point)]):
        heads = tuple(
            (level_name(axis, level), spans.pop(point[:depth], 0))
            for depth, (axis, level) in enumerate(zip(inner, point, strict=True), start=1)
        )
        control = "method" in inner and all(cell.control for cell in rows[point])
        drawn.append(Row(heads, {_point(cell, columns): cell for cell in rows[point]}, control))
    same = {cell.substituted for cell in cells}
    return Group(title, tuple(drawn), same.pop() if len(same) == 1 else ())


def _absent(
    first: Names, inner: Names, cells: Sequence[TableCell], begun: set[Point]
) -> Iterator[str]:
    """The rows without a finished run, by level of the first axis: 'δ = 0.5: MOON, FedDyn'."""
    for title, members in grouped(cells, lambda cell: label_of(cell, first)).items():
        there = {label_of(cell, inner): _point(cell, (*first, *inner)) in begun for cell in members}
        absent = [name for name, is_there in there.items() if not is_there]
        whole = len(absent) == len(there) > 1
        text = f"all {len(absent)}" if whole else ", ".join(absent)
        if absent:
            yield ": ".join(filter(None, (title, text)))
