"""Columns of a frame that follow from others: traffic, passes, seconds, the best round."""

import pandas as pd

_BYTES = 4  # of a number as it is sent: convention 14
_KILO, _MEGA = 1e3, 1e6


def with_derived(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, sorted by round, with every column that its columns give."""
    for add in (_with_best_round, _with_seconds, _with_megabytes, _with_thousands):
        frame = add(frame)
    return frame


def _with_best_round(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the column `best_round`: the first round with the best accuracy that a run had so far."""
    if "accuracy" not in frame:
        return frame
    best = frame.groupby("run_id")["accuracy"].cummax()
    first = frame["round"].where(frame["accuracy"].eq(best) & ~_repeats(frame, best))
    return frame.assign(best_round=first.groupby(frame["run_id"]).ffill())


def _repeats(frame: pd.DataFrame, best: pd.Series) -> pd.Series:
    before: pd.Series = best.groupby(frame["run_id"]).shift()
    return best.eq(before)


def _with_seconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `seconds` since the run began, and `round_seconds`, those per round.

    Both are of local training and the server's step, without evaluation and probes. The second is a
    mean over the rounds since the row before; a paper reads it as 'round_seconds@median'.
    """
    if not {"train_seconds", "server_seconds"} <= set(frame):
        return frame
    spent = frame["train_seconds"] + frame["server_seconds"]
    ids = frame["run_id"]
    rounds = frame["round"] - frame["round"].groupby(ids).shift(fill_value=0)
    per_round = (spent - spent.groupby(ids).shift(fill_value=0)) / rounds
    return frame.assign(seconds=spent, round_seconds=per_round)


def _with_megabytes(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `megabytes_down`, `megabytes_up` and their sum `megabytes`, since the run began."""
    if not {"floats_down", "floats_up"} <= set(frame):
        return frame
    down, up = (frame[f"floats_{way}"] * _BYTES / _MEGA for way in ("down", "up"))
    return frame.assign(megabytes_down=down, megabytes_up=up, megabytes=down + up)


def _with_thousands(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `thousand_sample_passes`, the column `compute` in thousands."""
    return (
        frame.assign(thousand_sample_passes=frame["compute"] / _KILO)
        if "compute" in frame
        else frame
    )
