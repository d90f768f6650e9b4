"""The cells of a paper's table from its plan, its printed numbers and the collected runs."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isinf, sqrt

import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper import history_metrics
from fedbench.paper.grid_points import merged
from fedbench.paper.metrics import Metric, measures
from fedbench.paper.printed_numbers import Printed, place_of
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import Level, Reading, reading
from fedbench.plan.plan import Cell, Plan
from fedbench.report.tables.cells import Pooled, Run, Status, TableCell, mark_best
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import GuessOf, declared, mean_limit
from fedbench.report.values.numbers import point_name


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
        values = {k: x * factor for k, x in history_metrics.values(frame, metric, table.at).items()}
        for cells in groups.values():
            place = place_of(at[1], paper, cells[0].coords, metric)
            coords = _coords(cells[0], table) | {"metric": metric}
            limit = mean_limit((cell.run for cell in cells), guess_of) if labels else None
            found.append(
                TableCell(
                    place=place,
                    coords=coords,
                    control=coords.get("method") in table.controls,
                    printed=printed.numbers.get(place),
                    runs=tuple(run_of(cell, values, asked) for cell in cells),
                    substituted=merged(cell.substituted for cell in cells),
                    near=limit * factor if limit else None,
                    tuned_near_chance=any(cell.run_id in tuned_near_chance for cell in cells),
                )
            )
    found = mark_best(found, table)
    # with `over` repeats are not the seeds alone
    return found if table.over else _with_pooled(found, table.minus)


def _coords(cell: Cell, table: Table) -> dict[str, Level]:
    return {axis: level for axis, level in cell.coords.items() if axis not in table.over}


def _runs_of(
    plan: Plan, at: tuple[str, str], frame: pd.DataFrame
) -> Callable[[Cell, dict[str, float], Reading], Run]:
    """What tells the run of a planned cell, by a metric's values and how it is read."""
    paper, table = at[0], plan.papers[at[0]].tables[at[1]]
    states, tuned = collected_frames.states(frame), collected_frames.tuned(frame)
    every = plan.select(paper, table.grid, {}) if table.minus else ()
    run_at = {(str(cell.coords), cell.seed): cell.run_id for cell in every}

    def run(cell: Cell, values: dict[str, float], asked: Reading) -> Run:
        name, value = cell.run_id, values.get(cell.run_id)
        # it is subtracted; a plan has it for each cell
        base = run_at[str(cell.coords | table.minus), cell.seed] if table.minus else None
        if base and value is not None:  # infinite is a target that was not reached
            value = None if isinf(values.get(base, inf)) else value - values[base]
        lost = value is not None and Status(states[name].status) is Status.DIVERGED
        if lost and not measures(cell.run, asked):  # it is not lost, since it was never asked for
            value = None
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


def _with_pooled(cells: list[TableCell], minus: dict[str, Level]) -> list[TableCell]:
    """Each cell that has a deviation with the one that it shares with the others of its contest.

    In a table with one method, with the cells of its metric and data set. The very same runs, such
    as of a method under two names, count once. Diverged runs vary by tens of points, and have none,
    nor have those that are subtracted from the others.
    """
    alone = len({cell.place.method for cell in cells}) == 1
    keys = [(c.place.dataset, c.place.metric) if alone else c.contest for c in cells]
    groups: dict[tuple[str, ...], dict[frozenset[str], tuple[float, int]]] = {}
    for key, cell in zip(keys, cells, strict=True):
        if cell.spread and not (minus and minus.items() <= cell.coords.items()):
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
