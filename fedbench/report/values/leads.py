"""How far each method is ahead of one of them, with intervals that hold for all at once."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbench.report.values.moderated import moderated

RISK = 0.05  # that any of the intervals misses the true lead
_TRIMMED = 0.1  # share of the methods that is left out at either end of a block's mean


@dataclass(frozen=True, eq=False)
class Leads:
    """The mean lead of each method over the base, the best first; each is known to ± its `half`.

    `blocks` is how many pairs there are of each method, such as seeds; `left_out` are the methods
    that lack one.
    """

    mean: "pd.Series[float]"
    half: "pd.Series[float]"
    blocks: int
    left_out: tuple[str, ...]

    @property
    def usual(self) -> float:
        """The median of what the leads are known to."""
        return float(self.half[self.half > 0].median()) if (self.half > 0).any() else 0.0

    def tells(self, method: str) -> bool:
        """Whether the method differs from the base by more than chance."""
        return bool(abs(self.mean[method]) > self.half[method])


def leads(values: pd.DataFrame, base: str) -> Leads | None:
    """The leads over `base` of the values (blocks × methods), more is better, NaN where missing.

    Blocks and methods add up, and the rest is noise whose variance each method has its own of, as
    far as the methods show that variances differ (`moderated`). The t intervals are corrected for
    the number of methods (Bonferroni). In simulations of 53 methods whose variances differ as much
    as the arena's (`benchmarks/leads.py`), any of the intervals misses in 4 % of draws with three
    seeds and in 2 % with six, but in 13 % with two, and in 25 % with three if the base alone
    scatters, three times as far as all others.

    Blocks that the base or half of the methods lack are left out, then methods that lack one of the
    others, and methods with a value that is infinite, as where a target is never reached. None with
    fewer than two blocks or methods, or if the base is not there or has such a value.
    """
    finite = values.drop(columns=[name for name in values if np.isinf(values[name]).any()])
    if base not in finite:
        return None
    full = finite[finite[base].notna() & of_most(finite)].dropna(axis=1)
    if min(full.shape) < 2:
        return None
    variance, freedom = moderated(_own_variances(full), len(full) - 1)
    half = _quantile(freedom, full.shape[1] - 1) * ((variance + variance[base]) / len(full)) ** 0.5
    half[base] = 0.0
    mean = (full.mean() - full[base].mean()).sort_values(ascending=False, kind="stable")
    left_out = tuple(str(name) for name in values if name not in full)
    return Leads(mean, half[mean.index], len(full), left_out)


def of_most(values: pd.DataFrame) -> "pd.Series[bool]":
    """Whether more than half of the methods (columns) have a value, by row.

    A row that one method alone has, such as a further seed, must not leave all others out.
    """
    return values.notna().mean(axis=1) > 0.5


def _own_variances(full: pd.DataFrame) -> "pd.Series[float]":
    """Each method's variance once its mean and what a block gives all methods alike are taken out.

    That of a block is the mean over the methods without the tenth with the most and the tenth with
    the least: one diverged run would move the mean of all, and with it the variances of all.
    """
    from scipy import stats

    noise, methods = full - full.mean(), full.shape[1]
    shared = stats.trim_mean(noise, _TRIMMED, axis=1)
    return noise.sub(shared, axis=0).var(ddof=1) * methods / (methods - 1)


def _quantile(freedom: float, intervals: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(1 - RISK / (2 * intervals), freedom))
