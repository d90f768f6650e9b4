"""Mean ranks of a table's methods over its settings, and which of them differ.

Friedman's test asks whether any differ, Nemenyi's which pairs do (Demšar, JMLR 2006).
"""

from dataclasses import dataclass

import pandas as pd
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats

from fedbench.paper.items import Table
from fedbench.report.entry import Entry
from fedbench.report.metrics import Metric
from fedbench.report.tables import rank

FEWEST = 3  # methods, and settings
RISK = 0.05  # of calling two methods different that are not


@dataclass(frozen=True, eq=False)
class Significance:
    """p of Friedman's test, and of Nemenyi's for each pair (methods × methods)."""

    p: float
    pairs: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks by method, 1 the best.

    `metric` is what was ranked, `left_out` are methods that some of the settings lack. A ranking of
    substitutes is not tested: it has no `Significance`.
    """

    metric: str
    mean: pd.Series
    settings: int
    controls: frozenset[str]
    left_out: tuple[str, ...]
    test: Significance | None


def ranks(table: Table, found: list[Entry]) -> Ranks | None:
    """Ranks of the means over the seeds, by the table's first metric.

    None unless three methods or more have a mean in all of three settings or more, and where
    neither more nor less is better. Means count with the digits that the table shows, so that what
    reads alike is tied; ties share their ranks, and what is not finite ranks last. Settings of the
    very same runs count once.
    """
    metric = table.metrics[0]
    if not Metric(metric).is_ranked:
        return None
    own = [e for e in found if e.place.metric == metric and e.place.method and e.measured]
    scores = _scores(own, table)
    full = scores.dropna(axis=1)
    if min(full.shape) < FEWEST:
        return None
    placed = full.rank(axis=1, ascending=False)
    return Ranks(
        metric,
        placed.mean().sort_values(kind="stable"),
        len(full),
        frozenset(e.place.method for e in own if e.control),
        tuple(str(name) for name in scores if name not in full),
        None if any(e.substituted for e in own) else _test(placed),
    )


def _test(placed: pd.DataFrame) -> Significance:
    p = float(stats.friedmanchisquare(*(placed[name] for name in placed)).pvalue)
    return Significance(p, posthoc_nemenyi_friedman(placed))


def _scores(own: list[Entry], table: Table) -> pd.DataFrame:
    """Settings × methods, more is better; empty where a setting lacks a method."""
    found: dict[str, dict[str, float]] = {}
    runs: dict[str, set[str]] = {}
    for entry in own:
        place = f"{entry.place.dataset};{entry.place.setting}"
        found.setdefault(place, {})[entry.place.method] = rank(entry, table)
        runs.setdefault(place, set()).update(run.id for run in entry.found)
    once = {frozenset(ids): place for place, ids in reversed(runs.items())}
    return pd.DataFrame([found[place] for place in found if place in once.values()])
