"""How far each method is ahead of one of them, with intervals that hold for all at once."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd

RISK = 0.05  # that any of the intervals misses the true lead
OUTLIER = 0.01  # risk of calling any method erratic that is not


@dataclass(frozen=True, eq=False)
class Leads:
    """The mean lead of each method over the base, the best first; each is known to ± its `half`.

    `usual` is the `half` of all methods but the erratic ones; `blocks` is how many pairs there are
    of each method, such as seeds; `left_out` are the methods that lack one.
    """

    mean: "pd.Series[float]"
    half: "pd.Series[float]"
    usual: float
    blocks: int
    left_out: tuple[str, ...]

    def tells(self, method: str) -> bool:
        """Whether the method differs from the base by more than chance."""
        return bool(abs(self.mean[method]) > self.half[method])


def leads(values: pd.DataFrame, base: str) -> Leads | None:
    """The leads over `base` of the values (blocks × methods), more is better, NaN where missing.

    Blocks and methods add up, and the rest is noise with one variance for all methods (a two-way
    analysis of variance) but those that vary far more, which have their own (Cochran's test). The
    t intervals are corrected for the number of methods (Bonferroni). Blocks that the base or most
    methods lack are left out, and so are methods with a value that is infinite, as where a target
    is never reached. None with fewer than two blocks or methods, or if the base has such a value.
    """
    finite = values.drop(columns=[name for name in values if np.isinf(values[name]).any()])
    if base not in finite:
        return None
    full = finite[finite[base].notna() & of_most(finite)].dropna(axis=1)
    if min(full.shape) < 2:
        return None
    blocks, intervals = len(full), full.shape[1] - 1
    own, steady = _variances(full, base)
    variance = own[steady].sum() / (len(steady) - 1)
    usual = _quantile((blocks - 1) * (len(steady) - 1), intervals) * sqrt(2 * variance / blocks)
    apart = _quantile(blocks - 1, intervals) * ((own + variance) / blocks) ** 0.5
    half = apart.where(~apart.index.isin(steady), usual)
    half[base] = 0.0
    mean = (full.mean() - full[base].mean()).sort_values(ascending=False, kind="stable")
    left_out = tuple(str(name) for name in values if name not in full)
    return Leads(mean, half[mean.index], usual, blocks, left_out)


def of_most(values: pd.DataFrame) -> "pd.Series[bool]":
    """Whether more than half of the methods (columns) have a value, by row.

    A row that one method alone has, such as a further seed, must not leave all others out.
    """
    return values.notna().mean(axis=1) > 0.5


def _variances(full: pd.DataFrame, base: str) -> tuple["pd.Series[float]", list[str]]:
    """Each method's variance about the means of the blocks, and the methods that are not erratic.

    The most varying method is taken out as long as it varies more than chance lets any.
    """
    steady = [str(name) for name in full]
    while True:
        own = full.sub(full[steady].mean(axis=1), axis=0).var(ddof=1)
        most = str(own[steady].idxmax())
        rest = [name for name in steady if name != most]
        if most == base or len(rest) < 3 or not _is_beyond_chance(own, most, rest, len(full)):
            return own, steady
        steady = rest


def _is_beyond_chance(own: "pd.Series[float]", most: str, rest: list[str], blocks: int) -> bool:
    from scipy import stats  # seconds that few commands need

    usual = float(own[rest].mean())
    if usual == 0:
        return bool(own[most] > 0)
    risk = stats.f.sf(own[most] / usual, blocks - 1, (blocks - 1) * len(rest))
    return bool(risk * (len(rest) + 1) < OUTLIER)


def _quantile(freedom: int, intervals: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(1 - RISK / (2 * intervals), freedom))
