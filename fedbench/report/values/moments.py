"""One value of each run from its history: of a round, or over its evaluated rounds.

A run that diverged keeps the value that it ended with to its last planned round, as a curve in a
figure does: it is filled before anything is averaged. 'std' and 'jumps' are no numbers then, since
a model that is lost stands still and is not smooth for it.
"""

import math

import pandas as pd

from fedbench.paper.places import Reading
from fedbench.report.values.metrics import Metric

_RATES = ("round_seconds",)  # rounds that were not made took no time


def at_round(rows: pd.DataFrame, metric: str) -> pd.Series:
    """The last value that each run has."""
    found: pd.Series = rows.drop_duplicates("run_id", keep="last").set_index("run_id")[metric]
    return found


def over_rounds(rows: pd.DataFrame, asked: Reading) -> pd.Series:
    """The best, or a moment of all evaluated rounds or the last; none of a run that has fewer."""
    full = _filled(rows, asked.metric).dropna(subset=[asked.metric])
    if asked.last:
        runs = full.groupby("run_id")
        late = runs.cumcount(ascending=False) < asked.last
        full = full[late & (runs["run_id"].transform("size") >= asked.last)]
    found = _moment(full, asked)
    ends = at_round(rows[rows["status"] == "diverged"], asked.metric).items()
    lost = [run for run, end in ends if _is_lost(asked.at, end, run in found)]
    known: pd.Series = found.drop(lost, errors="ignore")
    return pd.concat([known, pd.Series(math.nan, index=lost)]) if lost else known


def _moment(rows: pd.DataFrame, asked: Reading) -> pd.Series:
    values = rows.groupby("run_id")[asked.metric]
    match asked.at:
        case "best":
            return values.min() if Metric(asked.metric).lower_is_better else values.max()
        case "mean":
            return values.mean()
        case "median":
            return values.median()
        case "std":
            return values.std()
    steps: pd.Series = values.diff().abs()
    return steps.groupby(rows["run_id"]).mean()


def _is_lost(at: str | int, end: float, known: bool) -> bool:
    """Whether a diverged run has no such moment."""
    if at == "best":
        return not known
    return math.isnan(end) or at in ("std", "jumps")


def _filled(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """With the evaluations that diverged runs had still before them, at their last values."""
    ends = rows[rows["status"] == "diverged"].drop_duplicates("run_id", keep="last")
    if metric in _RATES or ends.empty:
        return rows
    missing = -(-ends["rounds"] // ends["eval_every"]) + (-ends["round"] // ends["eval_every"])
    return pd.concat([rows, ends.loc[ends.index.repeat(missing)]], ignore_index=True)
