"""How far each method is ahead of one of them, with intervals that hold for all at once."""

from dataclasses import dataclass
from math import sqrt

import pandas as pd

RISK = 0.05  # that any of the intervals misses the true lead


@dataclass(frozen=True, eq=False)
class Leads:
    """The mean lead of each method over the base, the best first; each is known to ± `half`.

    `blocks` is how many blocks there are, such as seeds; `left_out` are the methods that lack one.
    """

    mean: "pd.Series[float]"
    half: float
    blocks: int
    left_out: tuple[str, ...]

    def tells(self, method: str) -> bool:
        """Whether the method differs from the base by more than chance."""
        return bool(abs(self.mean[method]) > self.half)


def leads(values: pd.DataFrame, base: str) -> Leads | None:
    """The leads over `base` of the values (blocks × methods), more is better, NaN where missing.

    Blocks and methods add up, and the rest is noise that is alike for all methods (a two-way
    analysis of variance); the intervals are t intervals corrected for the number of methods
    (Bonferroni). None if the base lacks a block, or with fewer than two blocks or methods.
    """
    full = values.dropna(axis=1)
    blocks, methods = full.shape
    if base not in full or min(blocks, methods) < 2:
        return None
    noise = full.sub(full.mean(axis=1), axis=0) - full.mean() + full.to_numpy().mean()
    freedom = (blocks - 1) * (methods - 1)
    variance = float((noise**2).to_numpy().sum()) / freedom
    mean = (full.mean() - full[base].mean()).sort_values(ascending=False, kind="stable")
    half = _quantile(freedom, methods - 1) * sqrt(2 * variance / blocks)
    return Leads(mean, half, blocks, tuple(str(name) for name in values if name not in full))


def _quantile(freedom: int, intervals: int) -> float:
    from scipy import stats  # seconds that few commands need

    return float(stats.t.ppf(1 - RISK / (2 * intervals), freedom))
