"""How far each method is ahead of one of them, and which leads are significant among all.

The test is Westfall and Young's step-down max-T (Resampling-Based Multiple Testing, 1993), over
flips of the signs of paired differences, the same for all methods: by chance either is as likely.
"""

import itertools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

RISK = 0.05  # that any lead is called significant where there is none
FEWEST = {True: 3, False: 10}  # seeds that a test needs in each of several settings, and in one
_ALL = 12  # pairs up to which all flips are tried; of more pairs as many flips are drawn
Values = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Leads:
    """The mean lead of each method over the base, the best first."""

    mean: "pd.Series[float]"
    half: "pd.Series[float]"  # of the width of its own 95 % confidence interval (Student's t)
    p: "pd.Series[float]"  # adjusted for all methods that are tested; NaN where it is not
    blocks: int  # how many pairs there are of each method, such as seeds
    collapsed: tuple[str, ...]  # not tested: those with a run that diverged or is near chance

    @property
    def tested(self) -> bool:
        """Whether any lead was tested."""
        return bool(self.p.notna().any())

    def tells(self, method: str) -> bool:
        """Whether the method differs from the base significantly."""
        return bool(self.p[method] <= RISK)


def leads(values: pd.DataFrame, base: str, collapsed: Collection[str] = ()) -> Leads | None:
    """The leads over `base` of the values (blocks × methods), more is better, NaN where missing.

    The last level of the index is the seed; any before it are settings, within which the error is
    taken: that a method gains more in one setting than in another is no noise.

    Blocks that the base or half of the methods lack are left out, then methods that lack one of the
    others or have an infinite value, as of a target that is never reached. None with fewer than two
    blocks or methods, or if the base is among those left out.
    """
    finite = values.drop(columns=[name for name in values if np.isinf(values[name]).any()])
    if base not in finite:
        return None
    full = finite[finite[base].notna() & of_most(finite)].dropna(axis=1)
    if min(full.shape) < 2:
        return None
    ahead = full.sub(full[base], axis=0)
    of = [str(each[:-1]) if isinstance(each, tuple) else "" for each in full.index]
    settings = pd.get_dummies(pd.Series(of)).to_numpy(dtype=float)  # pairs × settings, 0 or 1
    error, freedom = _errors(ahead.to_numpy(dtype=float), settings)
    half = pd.Series(special.stdtrit(freedom, 0.975) * error, full.columns)
    half[base] = 0.0
    family = [name for name in full if name != base and name not in collapsed]
    p = pd.Series(np.nan, full.columns)
    enough = settings.sum(axis=0).min() >= FEWEST[settings.shape[1] > 1]
    if family and base not in collapsed and enough:
        p.update(pd.Series(_adjusted(ahead[family].to_numpy(dtype=float), settings), family))
    mean = ahead.mean().sort_values(ascending=False, kind="stable")
    fallen = tuple(str(name) for name in mean.index if name in collapsed)
    return Leads(mean, half[mean.index], p[mean.index], len(full), fallen)


def of_most(values: pd.DataFrame) -> "pd.Series[bool]":
    """By row, whether most methods (columns) have a value: a seed of one alone must not count."""
    return values.notna().mean(axis=1) > 0.5


def _adjusted(ahead: Values, settings: Values) -> Values:
    """The p-value of each column of differences (pairs × methods), adjusted for all of them."""
    pairs = len(ahead)
    if pairs <= _ALL:  # the first flip leaves them as they are
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))
    else:
        drawn = np.random.default_rng(0).choice((1.0, -1.0), (2**_ALL - 1, pairs))
        signs = np.vstack([np.ones(pairs), drawn])
    statistics = np.array([_statistics(flip[:, None] * ahead, settings) for flip in signs])
    seen = statistics[0]
    order = np.argsort(-seen, kind="stable")
    # the largest of a method and of all that are behind it, flip by flip
    largest = np.maximum.accumulate(statistics[:, order[::-1]], axis=1)[:, ::-1]
    beyond = (largest >= seen[order] * (1 - 1e-9)).mean(axis=0)
    p = np.empty(len(seen))
    p[order] = np.maximum.accumulate(beyond)
    return np.where(seen == 0, 1.0, p)


def _statistics(ahead: Values, settings: Values) -> Values:
    """|t| of the mean of each column, its error taken within settings; 0 where all are 0."""
    error, _ = _errors(ahead, settings)
    mean = np.abs(ahead.mean(axis=0))
    tiny = 1e-9 * np.abs(ahead).max(axis=0)  # differences that are all the same have no error
    return np.where(mean > tiny, mean / np.maximum(error, np.where(tiny > 0, tiny, 1.0)), 0.0)


def _errors(ahead: Values, settings: Values) -> tuple[Values, int]:
    """The standard error of each column's mean, and its degrees of freedom."""
    means = settings @ ((settings.T @ ahead) / settings.sum(axis=0)[:, None])
    pairs, freedom = len(ahead), len(ahead) - settings.shape[1]
    squares = ((ahead - means) ** 2).sum(axis=0)
    return np.sqrt(squares / freedom / pairs) if freedom else squares * np.nan, freedom
