"""Variances of many methods, each known from a few seeds alone, drawn towards what is usual.

Three seeds say little of one method's variance. But the variances of all methods together say how
far variances differ at all, and with that each is estimated from its own seeds and from the others'
(empirical Bayes; Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004).
"""

from dataclasses import dataclass
from math import exp, inf, log

import numpy as np
import numpy.typing as npt
import pandas as pd

_LEAST = 1e-5  # share of the median below which a variance counts as chance
_WIDEST, _NARROWEST = 1e-6, 1e8  # degrees of freedom of a prior, between which it is sought


@dataclass(frozen=True, eq=False)
class Prior:
    """What the variances of all methods say of any: it is `variance`, as if from `freedom` values.

    Variances are spread like `variance` · freedom / χ²(freedom); `freedom` is infinite where they
    differ by no more than chance explains.
    """

    variance: float
    freedom: float


def moderated(own: "pd.Series[float]", freedom: int) -> "tuple[pd.Series[float], float]":
    """Each method's moderated variance, and the degrees of freedom that all of them have.

    `own` are the variances by method, each with so many degrees of freedom. A moderated variance is
    the mean of its own and the prior's, weighted by their degrees of freedom; it has the sum of
    both, but no more than all methods together, less one for what they share, can give.
    """
    prior = prior_of(own.to_numpy(dtype=np.float64), freedom)
    weight = freedom / (freedom + prior.freedom)  # 0 where the prior is sure
    total = min(freedom + prior.freedom, freedom * (len(own) - 1))
    return weight * own + (1 - weight) * prior.variance, total


def prior_of(own: npt.NDArray[np.floating], freedom: int) -> Prior:
    """The prior whose variances, each estimated with so many degrees of freedom, scatter as these.

    The logarithm of an estimate has the mean log(variance) + ψ(d/2) − log(d/2) − ψ(f/2) + log(f/2)
    and the variance ψ′(d/2) + ψ′(f/2), where d is `freedom` and f the prior's, ψ the digamma
    function (Smyth 2004, section 6.2).
    """
    from scipy import optimize, special  # seconds that few commands need

    least = _LEAST * float(np.median(own))
    if least == 0:
        return Prior(float(own.mean()), inf)
    logs = np.log(np.maximum(own, least))
    beyond = logs.var(ddof=1) - special.polygamma(1, freedom / 2)

    def too_wide(prior: float) -> float:
        return float(special.polygamma(1, prior / 2) - beyond)

    if beyond <= 0 or too_wide(_NARROWEST) >= 0:
        return Prior(float(own.mean()), inf)
    prior = optimize.brentq(too_wide, _WIDEST, _NARROWEST)
    bias = _log_bias(freedom) - _log_bias(prior)
    return Prior(exp(logs.mean() - bias), prior)


def _log_bias(freedom: float) -> float:
    """By how much the mean logarithm of a χ²(freedom)/freedom differs from 0."""
    from scipy import special

    return float(special.digamma(freedom / 2)) - log(freedom / 2)
