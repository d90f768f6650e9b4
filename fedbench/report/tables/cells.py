"""A paper's table as cells: the printed number, the measured one, and the runs behind it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from fedbench.base.errors import FedbenchError
from fedbench.paper.items import Table
from fedbench.paper.places import Level, Reading, reading
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.printed import Printed, place_of
from fedbench.report.tables.entry import Entry, Run
from fedbench.report.values import frames
from fedbench.report.values.metrics import Metric
from fedbench.report.values.numbers import point_name

COLUMNS = (
    "paper", "table", "dataset", "setting", "method", "metric", "printed_mean", "printed_std",
    "measured_mean", "measured_std", "n_seeds", "n_diverged", "n_planned", "run_ids", "substituted",
)  # fmt: skip


def entries(plan: Plan, at: tuple[str, str], frame: pd.DataFrame, printed: Printed) -> list[Entry]:
    """All cells of the table `at` (paper, table), in the order of the grid, the best marked."""
    table = plan.papers[at[0]].tables[at[1]]
    return _mark_best(list(_entries(plan, at, frame, printed)), table)


def _entries(
    plan: Plan, at: tuple[str, str], frame: pd.DataFrame, printed: Printed
) -> Iterator[Entry]:
    paper, table = plan.papers[at[0]], plan.papers[at[0]].tables[at[1]]
    groups: dict[str, list[Cell]] = {}
    for cell in plan.select(at[0], table.grid, table.where):
        groups.setdefault(str(_coords(cell, table)), []).append(cell)
    found = _Found(table, frames.states(frame), frames.tuned(frame), _bases(plan, at))
    for metric in table.metrics:
        values, asked = _values(frame, table, metric), reading(metric, table.at)
        for cells in groups.values():
            place = place_of(at[1], paper, cells[0].coords, metric)
            runs = tuple(found.run(cell, values, asked) for cell in cells)
            coords = _coords(cells[0], table) | {"metric": metric}
            control = coords.get("method") in table.controls
            number = printed.numbers.get(place)
            yield Entry(place, coords, control, number, runs, cells[0].substituted)


def _coords(cell: Cell, table: Table) -> dict[str, Level]:
    """Where a cell stands, without the axes that count as repeats."""
    return {axis: level for axis, level in cell.coords.items() if axis not in table.over}


def _values(frame: pd.DataFrame, table: Table, metric: str) -> dict[str, float]:
    """The metric of each run, in the table's unit."""
    factor = Metric(metric).factor(table)
    return {k: v * factor for k, v in frames.values(frame, metric, table.at).items()}


def _bases(plan: Plan, at: tuple[str, str]) -> dict[tuple[str, int], str]:
    """The run that is subtracted, by a cell's coordinates and seed; empty if none is."""
    table = plan.papers[at[0]].tables[at[1]]
    if not table.minus:
        return {}
    known = {(str(c.coords), c.seed): c.run.id for c in plan.select(at[0], table.grid, {})}
    found = {}
    for cell in plan.select(at[0], table.grid, table.where):
        base = known.get((str(cell.coords | table.minus), cell.seed))
        if base is None:
            raise FedbenchError(
                f"{at[0]}: tables.{at[1]}.minus: no run at {cell.coords | table.minus}, "
                f"seed {cell.seed}"
            )
        found[str(cell.coords), cell.seed] = base
    return found


@dataclass(frozen=True)
class _Found:
    """What is known of the runs behind a table."""

    table: Table
    states: dict[str, str]
    tuned: dict[str, str]
    bases: dict[tuple[str, int], str]

    def run(self, cell: Cell, values: dict[str, float], asked: Reading) -> Run:
        """A cell's run with its value; none if it ends before the rounds that are asked for."""
        name, rounds = cell.run.id, cell.run.rounds
        short = rounds < asked.needs(cell.run.eval_every)
        value = None if short else self._value(cell, values)
        state = "missing" if value is None else self.states[name]
        state = f"ends at round {rounds}" if short else state
        at = ", ".join(point_name(axis, cell.coords[axis]) for axis in self.table.over)
        return Run(name, cell.seed, state, value, self.tuned.get(name, ""), at)

    def _value(self, cell: Cell, values: dict[str, float]) -> float | None:
        """Less that of its base where there is one; None if either is missing."""
        value, base = values.get(cell.run.id), self.bases.get((str(cell.coords), cell.seed))
        if base is None or value is None:
            return value
        return value - values[base] if base in values else None


def _mark_best(found: list[Entry], table: Table) -> list[Entry]:
    """Mark the best method among those that share all else; ties at the table's digits share it.

    Where more than half tie, none is marked.
    """
    rivals: dict[tuple[str, str, str], list[float]] = {}
    for entry in found:
        if not entry.control and entry.measured is not None:
            rivals.setdefault(_rest(entry), []).append(rank(entry, table))
    return [
        replace(entry, best=_is_best(entry, rivals.get(_rest(entry), []), table)) for entry in found
    ]


def _is_best(entry: Entry, rivals: list[float], table: Table) -> bool:
    ranked = Metric(entry.place.metric).is_ranked and not entry.control
    if not ranked or entry.measured is None or len(rivals) < 2:
        return False
    best = max(rivals)
    return rank(entry, table) == best > -float("inf") and 2 * rivals.count(best) <= len(rivals)


def _rest(entry: Entry) -> tuple[str, str, str]:
    return entry.place.dataset, entry.place.setting, entry.place.metric


def rank(entry: Entry, table: Table) -> float:
    """What methods are compared by: more is better, at the table's digits; −∞ if not finite."""
    mean = entry.measured.mean if entry.measured else float("nan")
    sign = -1 if Metric(entry.place.metric).lower_is_better else 1
    return -float("inf") if mean != mean else sign * round(mean, table.digits)


def tidy(paper: str, found: list[Entry]) -> pd.DataFrame:
    """The table as a tidy frame with `COLUMNS`; `run_ids` are the runs measured.

    Seeds are counted: those measured, those among them with a run that diverged, those planned.
    """
    return pd.DataFrame([_record(paper, entry) for entry in found], columns=list(COLUMNS))


def _record(paper: str, entry: Entry) -> tuple[object, ...]:
    place, ids = entry.place, ";".join(run.id for run in entry.found)
    stats = [(s.mean, s.std) if s else (None, None) for s in (entry.printed, entry.measured)]
    where = (paper, place.table, place.dataset, place.setting, place.method, place.metric)
    lost = [run for run in entry.found if run.diverged]
    seeds = [len({run.seed for run in runs}) for runs in (entry.found, lost, entry.runs)]
    return (*where, *stats[0], *stats[1], *seeds, ids, entry.substituted)
