"""The cells of a paper's table: the printed number, the measured one, and the runs behind it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fedbench.base.errors import FedbenchError
from fedbench.paper.items import Table
from fedbench.paper.places import Level, Reading, reading
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.printed import Place, Printed, Stat, place_of
from fedbench.report.tables.pooled import Pooled, pool
from fedbench.report.values import frames
from fedbench.report.values.chance import NEAR, chance
from fedbench.report.values.metrics import Metric
from fedbench.report.values.numbers import point_name
from fedbench.spec import RunSpec


@dataclass(frozen=True)
class Run:
    """A run behind a cell.

    `state` is 'finished', 'diverged at round n', 'missing', or 'ends at round n' if the table asks
    for a later round. `tuned` is what a search chose for it. `at` tells it from the cell's other
    runs of the same seed: 'α = 0.2'.
    """

    id: str
    seed: int
    state: str
    value: float | None
    tuned: str = ""
    at: str = ""

    @property
    def name(self) -> str:
        """'seed 0', 'α = 0.2, seed 0'."""
        return ", ".join(filter(None, (self.at, f"seed {self.seed}")))

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return self.state.startswith("diverged")


@dataclass(frozen=True)
class TableCell:
    """One cell of a table, in the table's unit; `coords` has the metric as one more axis.

    `pooled` is the deviation over seeds that it shares with the cells that differ from it in the
    method alone, or, in a table with one method, with the cells of its metric and data set. A cell
    with a diverged run has none: it varies by tens of points where the others do by one.
    """

    place: Place
    coords: dict[str, Level]
    control: bool
    printed: Stat | None
    runs: tuple[Run, ...]
    substituted: str
    near: float | None = None  # below this, in the table's unit, a number is near chance
    best: bool = False
    pooled: Pooled | None = None

    @property
    def measured_runs(self) -> tuple[Run, ...]:
        """The runs that have a value."""
        return tuple(run for run in self.runs if run.value is not None)

    @property
    def measured(self) -> Stat | None:
        """Mean and standard deviation over the measured runs; None if there is none."""
        return _over_seeds([run.value for run in self.measured_runs if run.value is not None])

    @property
    def spread(self) -> tuple[float, int] | None:
        """The standard deviation over the measured runs, none diverged, and their number."""
        std = self.measured.std if self.measured and not self.diverged else None
        return None if std is None else (std, len(self.measured_runs))

    @property
    def missing(self) -> tuple[Run, ...]:
        """The planned runs that have not been collected."""
        return tuple(run for run in self.runs if run.state == "missing")

    @property
    def diverged(self) -> int:
        """How many of the measured runs ended early."""
        return sum(run.diverged for run in self.measured_runs)

    @property
    def difference(self) -> float | None:
        """Measured minus printed; None where anything was substituted."""
        if self.substituted or self.printed is None or self.measured is None:
            return None
        return self.measured.mean - self.printed.mean


def _over_seeds(values: list[float]) -> Stat | None:
    """Mean and deviation of one value per seed; None of none.

    The mean is NaN if a value is, and infinite if a run did not reach what the metric asks for.
    """
    if not values:
        return None
    if not np.isfinite(values).all():
        return Stat(float("nan" if np.isnan(values).any() else "inf"), None)
    return Stat(float(np.mean(values)), float(np.std(values, ddof=1)) if values[1:] else None)


COLUMNS = (
    "paper", "table", "dataset", "setting", "method", "metric", "printed_mean", "printed_std",
    "measured_mean", "measured_std", "pooled_std", "pooled_freedom", "n_seeds", "n_diverged",
    "n_planned", "run_ids", "substituted",
)  # fmt: skip


def table_cells(
    plan: Plan, at: tuple[str, str], frame: pd.DataFrame, printed: Printed
) -> list[TableCell]:
    """All cells of the table at the keys `at` (paper, table), in the grid's order, the best marked.

    `frame` holds the collected runs; a planned run that is not in it is missing.
    """
    table = plan.papers[at[0]].tables[at[1]]
    cells = _mark_best(list(_cells(plan, at, frame, printed)), table, set(frames.states(frame)))
    return cells if table.over else _with_pooled(cells)  # else repeats are not the seeds alone


def _cells(
    plan: Plan, at: tuple[str, str], frame: pd.DataFrame, printed: Printed
) -> Iterator[TableCell]:
    paper, table = plan.papers[at[0]], plan.papers[at[0]].tables[at[1]]
    groups: dict[str, list[Cell]] = {}
    for cell in plan.select(at[0], table.grid, table.where):
        groups.setdefault(str(_coords(cell, table)), []).append(cell)
    runs_behind = _RunsBehind(table, frames.states(frame), frames.tuned(frame), _bases(plan, at))
    for metric in table.metrics:
        values, asked = _values(frame, table, metric), reading(metric, table.at)
        for cells in groups.values():
            place = place_of(at[1], paper, cells[0].coords, metric)
            runs = tuple(runs_behind.run(cell, values, asked) for cell in cells)
            coords = _coords(cells[0], table) | {"metric": metric}
            control = coords.get("method") in table.controls
            number = printed.numbers.get(place)
            near = _near_chance(cells[0].run, table, metric)
            yield TableCell(place, coords, control, number, runs, cells[0].substituted, near)


def _near_chance(run: RunSpec, table: Table, metric: str) -> float | None:
    """The number below which an accuracy or F1 score is near chance; None for all else."""
    guess = chance(run.dataset)
    if table.minus or guess is None or not Metric(metric).is_of_labels:
        return None
    return NEAR * guess * Metric(metric).factor(table)


def _coords(cell: Cell, table: Table) -> dict[str, Level]:
    """The levels of a planned cell, without the axes that count as repeats."""
    return {axis: level for axis, level in cell.coords.items() if axis not in table.over}


def _values(frame: pd.DataFrame, table: Table, metric: str) -> dict[str, float]:
    """The metric of each run, in the table's unit."""
    factor = Metric(metric).factor(table)
    return {k: v * factor for k, v in frames.values(frame, metric, table.at).items()}


def _bases(plan: Plan, at: tuple[str, str]) -> dict[tuple[str, int], str]:
    """By the levels and seed of a planned cell, the run whose value is subtracted from its value.

    Empty if the table subtracts nothing.
    """
    table = plan.papers[at[0]].tables[at[1]]
    if not table.minus:
        return {}
    run_at = {(str(c.coords), c.seed): c.run_id for c in plan.select(at[0], table.grid, {})}
    bases = {}
    for cell in plan.select(at[0], table.grid, table.where):
        base = run_at.get((str(cell.coords | table.minus), cell.seed))
        if base is None:
            raise FedbenchError(
                f"{at[0]}: tables.{at[1]}.minus: no run at {cell.coords | table.minus}, "
                f"seed {cell.seed}"
            )
        bases[str(cell.coords), cell.seed] = base
    return bases


@dataclass(frozen=True)
class _RunsBehind:
    """The runs behind a table: their states, what a search chose, what is subtracted."""

    table: Table
    states: dict[str, str]
    tuned: dict[str, str]
    bases: dict[tuple[str, int], str]

    def run(self, cell: Cell, values: dict[str, float], asked: Reading) -> Run:
        """The run of a planned cell with its value; None if it ends before the rounds asked for."""
        name, rounds = cell.run_id, cell.run.rounds
        short = rounds < asked.needs
        value = None if short else self._value(cell, values)
        state = "missing" if value is None else self.states[name]
        state = f"ends at round {rounds}" if short else state
        at = ", ".join(point_name(axis, cell.coords[axis]) for axis in self.table.over)
        return Run(name, cell.seed, state, value, self.tuned.get(name, ""), at)

    def _value(self, cell: Cell, values: dict[str, float]) -> float | None:
        """The run's value minus that of the run to subtract, if any; None if either is missing."""
        value, base = values.get(cell.run_id), self.bases.get((str(cell.coords), cell.seed))
        if base is None or value is None:
            return value
        return value - values[base] if base in values else None


def _mark_best(cells: list[TableCell], table: Table, collected: set[str]) -> list[TableCell]:
    """Mark the best method's cell among those cells that differ in the method alone.

    Values that are equal at the table's digits tie. All that tie for the best are marked, but none
    if they are more than half, none that is near chance, and none while a method has no finished
    run among those `collected`.
    """
    rivals: dict[tuple[str, str, str], list[float]] = {}
    awaited = {_rest(cell) for cell in cells if not cell.control and _is_awaited(cell, collected)}
    for cell in (cell for cell in cells if _rest(cell) not in awaited):
        if not cell.control and cell.measured is not None:
            rivals.setdefault(_rest(cell), []).append(comparable(cell, table))
    return [
        replace(cell, best=_is_best(cell, rivals.get(_rest(cell), []), table)) for cell in cells
    ]


def _is_awaited(cell: TableCell, collected: set[str]) -> bool:
    return not any(run.id in collected for run in cell.runs)


def _is_best(cell: TableCell, rivals: list[float], table: Table) -> bool:
    ranked = Metric(cell.place.metric).is_ranked and not cell.control
    if not ranked or cell.measured is None or len(rivals) < 2 or is_near_chance(cell):
        return False
    best = max(rivals)
    return comparable(cell, table) == best > -float("inf") and 2 * rivals.count(best) <= len(rivals)


def is_near_chance(cell: TableCell) -> bool:
    """Whether the measured mean is no better than what guessing may give."""
    return cell.near is not None and cell.measured is not None and cell.measured.mean < cell.near


def _rest(cell: TableCell) -> tuple[str, str, str]:
    return cell.place.dataset, cell.place.setting, cell.place.metric


def comparable(cell: TableCell, table: Table) -> float:
    """The measured mean as a number of which more is better, by which methods are ranked.

    It is rounded to the table's digits, and −∞ if it is not finite.
    """
    mean = cell.measured.mean if cell.measured else float("nan")
    sign = -1 if Metric(cell.place.metric).lower_is_better else 1
    return -float("inf") if mean != mean else sign * round(mean, table.digits)


def _with_pooled(cells: list[TableCell]) -> list[TableCell]:
    """Each cell that has a deviation with the one that it shares."""
    alone = len({cell.place.method for cell in cells}) == 1
    keys = [(c.place.dataset, c.place.metric) if alone else _rest(c) for c in cells]
    keyed = list(zip(keys, cells, strict=True))
    shared = pool((key, *cell.spread) for key, cell in keyed if cell.spread)
    return [replace(cell, pooled=shared.get(key) if cell.spread else None) for key, cell in keyed]


def tidy(paper: str, cells: list[TableCell]) -> pd.DataFrame:
    """One row per cell, with the columns `COLUMNS`; `run_ids` are the measured runs.

    `pooled_std` is the deviation pooled over cells, `pooled_freedom` its degrees of freedom.
    `n_seeds` are the seeds with a measured run, `n_diverged` those among them with a run that
    diverged, `n_planned` all that were planned.
    """
    return pd.DataFrame([_record(paper, cell) for cell in cells], columns=list(COLUMNS))


def _record(paper: str, cell: TableCell) -> tuple[object, ...]:
    place, ids = cell.place, ";".join(run.id for run in cell.measured_runs)
    stats = [(s.mean, s.std) if s else (None, None) for s in (cell.printed, cell.measured)]
    where = (paper, place.table, place.dataset, place.setting, place.method, place.metric)
    pooled = (cell.pooled.std, cell.pooled.freedom) if cell.pooled else (None, None)
    lost = [run for run in cell.measured_runs if run.diverged]
    seeds = [len({run.seed for run in runs}) for runs in (cell.measured_runs, lost, cell.runs)]
    return (*where, *stats[0], *stats[1], *pooled, *seeds, ids, cell.substituted)
