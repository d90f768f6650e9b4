"""Compares the tables of two folders of results cell by cell: two scales, or two machines."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from fedbench.base.files import exists
from fedbench.paper.printed_numbers import Printed
from fedbench.plan.plan import Plan
from fedbench.report.tables.gather_cells import table_cells
from fedbench.report.values import collected_frames
from fedbench.store import Results

_RISK = 0.05  # the share of false alarms among the cells that are said to differ
PLACE = ["table", "dataset", "setting", "method", "metric"]  # the table as 'paper/table'
Values = tuple[float | None, ...]  # of the runs behind a cell


class Side(NamedTuple):
    """One folder of results: the plan of its scale, and the folder with `runs/`."""

    plan: Plan
    results: Path

    def cells(self) -> pd.DataFrame:
        """One row per measured cell of the papers collected here: `PLACE`, mean, std and values."""
        rows: list[tuple[Any, ...]] = []
        for name, paper in self.plan.papers.items():
            file = Results(self.results).frame(self.plan.scale, name)
            frame = collected_frames.read(file)
            for key in paper.tables if exists(file) else ():
                for cell in table_cells(self.plan, (name, key), frame, Printed(file, {})):
                    if stat := cell.measured:
                        at, values = cell.place, tuple(run.value for run in cell.measured_runs)
                        place = (f"{name}/{key}", at.dataset, at.setting, at.method, at.metric)
                        rows.append((*place, stat.mean, stat.std, values))
        return pd.DataFrame(rows, columns=[*PLACE, "mean", "std", "values"])


class Compared(NamedTuple):
    """The cells that both sides measured, and how many only one of them did."""

    # `PLACE`; mean, std and values of each side, `mean_one` and so on; the `difference` of means,
    # its `p` by Welch's t-test, whether they are `apart`, and whether all numbers are the `same`
    cells: pd.DataFrame
    only_one: int
    only_other: int


def compare(one: Side, other: Side) -> Compared:
    """Join the cells of two folders and test each for a difference (Benjamini and Hochberg)."""
    first, second = one.cells(), other.cells()
    cells = first.merge(second, on=PLACE, suffixes=("_one", "_other"))
    pairs = [*zip(cells["values_one"], cells["values_other"], strict=True)]
    p = pd.Series([_p(*pair) for pair in pairs], cells.index, dtype=float)
    tested = p.dropna()
    apart = tested.index[stats.false_discovery_control(tested) < _RISK] if len(tested) else []
    equal = cells["mean_one"] == cells["mean_other"]  # both may be infinite
    cells = cells.assign(
        difference=(cells["mean_other"] - cells["mean_one"]).mask(equal, 0.0),
        p=p,
        apart=cells.index.isin(apart),
        same=[mine == theirs for mine, theirs in pairs],
    )
    return Compared(cells, len(first) - len(cells), len(second) - len(cells))


def _p(one: Values, other: Values) -> float:
    """The p-value of Welch's t-test; NaN where a side has one run, or a value is not finite."""
    first, second = ([value for value in values if value is not None] for values in (one, other))
    if min(len(first), len(second)) < 2 or not np.isfinite([*first, *second]).all():
        return np.nan
    if first == second or len({*first}) == len({*second}) == 1:  # no spread, or no difference
        return float(first[0] == second[0])
    return float(stats.ttest_ind(first, second, equal_var=False).pvalue)
