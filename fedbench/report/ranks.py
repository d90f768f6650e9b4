"""Mean ranks of a table's methods over its settings, and which of them differ.

Friedman's test asks whether any differ, Nemenyi's which pairs do (Demšar, JMLR 2006).
"""

import math
from dataclasses import dataclass

import pandas as pd
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats

from fedbench.paper import Table
from fedbench.report.entry import Entry
from fedbench.report.metrics import Metric

FEWEST = 3  # methods, and settings
RISK = 0.05  # of calling two methods different that are not


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks by method, 1 the best, with Friedman's p and Nemenyi's for each pair.

    `metric` is what was ranked, `left_out` are methods that some of the settings lack.
    """

    metric: str
    mean: pd.Series
    pairs: pd.DataFrame
    p: float
    settings: int
    controls: frozenset[str]
    left_out: tuple[str, ...]
    substituted: bool


def ranks(table: Table, found: list[Entry]) -> Ranks | None:
    """Ranks of the means over the seeds, by the table's first metric.

    None unless three methods or more have a mean in all of three settings or more. A mean that is
    not finite ranks last; ties share their ranks.
    """
    metric = table.metrics[0]
    own = [e for e in found if e.place.metric == metric and e.place.method and e.measured]
    scores = _scores(own, Metric(metric).lower_is_better)
    full = scores.dropna(axis=1)
    if min(full.shape) < FEWEST:
        return None
    placed = full.rank(axis=1, ascending=False)
    return Ranks(
        metric,
        placed.mean().sort_values(kind="stable"),
        posthoc_nemenyi_friedman(placed),
        float(stats.friedmanchisquare(*(placed[name] for name in placed)).pvalue),
        len(full),
        frozenset(e.place.method for e in own if e.control),
        tuple(str(name) for name in scores if name not in full),
        any(e.substituted for e in own),
    )


def _scores(own: list[Entry], lower: bool) -> pd.DataFrame:
    """Settings × methods, more is better; empty where a setting lacks a method."""
    found: dict[str, dict[str, float]] = {}
    for entry in own:
        place = f"{entry.place.dataset};{entry.place.setting}"
        found.setdefault(entry.place.method, {})[place] = _score(entry, lower)
    return pd.DataFrame(found)


def _score(entry: Entry, lower: bool) -> float:
    mean = entry.measured.mean if entry.measured else math.nan
    if math.isnan(mean):
        return -math.inf
    return -mean if lower else mean
