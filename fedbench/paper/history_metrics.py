"""What is computed from runs' histories: a value per run, at a round or over rounds; columns."""

import math

import pandas as pd

from fedbench.paper.metrics import ENGINE, SCORES, Metric
from fedbench.paper.yaml_notation import HELD_OUT, At, Reading, Target, reading

_KEYS = ("run_id", "round", "status", "rounds", "eval_every")
_BYTES = 4  # of a number as it is sent: convention 14


def values(frame: pd.DataFrame, metric: str, at: At) -> dict[str, float]:
    """The metric of each run at the moment that it names, else at `at`.

    For a round that was not evaluated, the last evaluated one before it is read. A run that
    diverged keeps its last value to its last planned round. Infinite is what is never reached.
    """
    asked = reading(metric, at)
    if not {*asked.columns} <= {*frame}:
        return {}
    rows = _measured(frame[frame.columns.intersection([*_KEYS, *asked.columns])], asked.metric)
    match asked.at:
        case "final":
            read_off = _last(rows, asked.metric)
        case "held-out":
            scored = rows[rows[HELD_OUT].notna()]
            best = scored.groupby("run_id")[HELD_OUT].idxmax()  # the first of several
            read_off = _last(scored.loc[best], asked.metric)
        case "to" if asked.target:
            read_off = _at_target(rows, asked.metric, asked.target)
        case int(round_):
            long_enough = rows[rows["rounds"] >= round_]
            read_off = _last(long_enough[long_enough["round"] <= round_], asked.metric)
        case _:
            read_off = _over_rounds(rows, asked)
    if asked.at != "to":  # a loss that overflowed is no number
        read_off = read_off.replace([math.inf, -math.inf], math.nan)
    return {str(run): float(value) for run, value in read_off.items()}


def _measured(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows with a value of the column, and of runs that diverged."""
    # an empty score of an evaluated round is a result; probes may measure in some rounds only
    if column.removeprefix("val_").partition("[")[0] in SCORES:
        there = frame.groupby("run_id")[column].transform("count") > 0
    else:
        there = frame[column].notna()
    return frame[there | (frame["status"] == "diverged")]


def _last(rows: pd.DataFrame, metric: str) -> pd.Series:
    last: pd.Series = rows.drop_duplicates("run_id", keep="last").set_index("run_id")[metric]
    return last


def _at_target(rows: pd.DataFrame, metric: str, target: Target) -> pd.Series:
    """The metric of each run when it first reaches the target, or has spent it; else infinite."""
    column, value = target
    scores = rows[column]
    falls = Metric(column).lower_is_better and (column == "train_loss" or column not in ENGINE)
    reached = scores <= value if falls else scores >= value
    first = rows[reached].drop_duplicates("run_id").set_index("run_id")[metric].astype(float)
    scored = rows[scores.notna() | (rows["status"] == "diverged")]
    return first.reindex(scored["run_id"].unique(), fill_value=math.inf)


def _over_rounds(rows: pd.DataFrame, asked: Reading) -> pd.Series:
    """The moment over evaluated rounds; `last` takes those there are, others need all asked."""
    full = _filled(rows, asked.metric)
    if asked.last and asked.at != "last":
        end = full.groupby("run_id")["round"].transform("max")
        full = full[(full["round"] > end - asked.last) & (end >= asked.last)]
    full = full.dropna(subset=[asked.metric])
    if asked.at == "last":  # by run: the last bits of pandas' means follow from where numbers lie
        full = full.sort_values(["run_id", "round"]).groupby("run_id").tail(asked.last)
    by_run = full.groupby("run_id")[asked.metric]
    if asked.at == "jumps":
        found = by_run.diff().abs().groupby(full["run_id"]).mean().dropna()
    else:
        best = "min" if Metric(asked.metric).lower_is_better else "max"
        usual = str(asked.at)
        found = by_run.agg({"best": best, "last": "mean"}.get(usual, usual)).dropna()
    ends = _last(rows[rows["status"] == "diverged"], asked.metric)
    if asked.at == "best":
        lost = ends.index[~ends.index.isin(found.index)]
    else:
        lost = ends.index[ends.isna() | (asked.at in ("std", "jumps"))]
    sound = found.drop(lost, errors="ignore")
    # NaN where the model is lost: a curve that stands still for this reason is not a smooth one
    return sound.reindex([*sound.index, *lost])


def _filled(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The rows, and one with the last value for each evaluation that a diverged run missed."""
    ends = rows[rows["status"] == "diverged"]
    if metric == "round_seconds" or ends.empty:  # rounds that were not trained took no time
        return rows
    ends = ends.drop_duplicates("run_id", keep="last")
    # How many evaluations it made: its last row, which may be early, counts as one of them.
    before = -(-ends["round"] // ends["eval_every"])
    missing = -(-ends["rounds"] // ends["eval_every"]) - before
    added = ends.loc[ends.index.repeat(missing)]
    nth = before.loc[added.index] + added.groupby("run_id").cumcount() + 1
    later = (nth * added["eval_every"]).clip(upper=added["rounds"])
    return pd.concat([rows, added.assign(round=later)], ignore_index=True)


def with_derived(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, sorted by round, with every column that follows from its columns.

    `best_round`: the first round with the best accuracy so far. `seconds`: of local training and
    the server's step; `round_seconds`: their mean over the rounds since the row before. All but it
    are counted from the run's beginning.
    """
    ids, there = frame["run_id"], set(frame)
    if "accuracy" in there:
        best = frame.groupby("run_id")["accuracy"].cummax()
        repeats = best.eq(best.groupby(ids).shift())
        first = frame["round"].where(frame["accuracy"].eq(best) & ~repeats)
        frame = frame.assign(best_round=first.groupby(ids).ffill())
    if {"train_seconds", "server_seconds"} <= there:
        spent = frame["train_seconds"] + frame["server_seconds"]
        rounds = frame["round"] - frame["round"].groupby(ids).shift(fill_value=0)
        per_round = (spent - spent.groupby(ids).shift(fill_value=0)) / rounds
        frame = frame.assign(seconds=spent, round_seconds=per_round)
    if {"floats_down", "floats_up"} <= there:
        down, up = (frame[f"floats_{way}"] * _BYTES / 1e6 for way in ("down", "up"))
        frame = frame.assign(megabytes_down=down, megabytes_up=up, megabytes=down + up)
    if "compute" in there:
        frame = frame.assign(thousand_sample_passes=frame["compute"] / 1e3)
    return frame
