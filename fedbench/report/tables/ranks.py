"""Mean ranks of a table's methods over its settings, and which of them differ.

Friedman's test asks whether any differ, Nemenyi's which pairs do (Demšar, JMLR 2006).
"""

from dataclasses import dataclass

import pandas as pd
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats

from fedbench.paper.items import Table
from fedbench.report.tables.cells import rank
from fedbench.report.tables.entry import Entry
from fedbench.report.values.metrics import Metric

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


@dataclass(frozen=True)
class RankView:
    """A critical-difference diagram with what it says, ready to stand in a page."""

    key: str
    title: str
    ranks: Ranks
    svg: str

    @property
    def caption(self) -> str:
        """How many settings, the tests, who is left out, and whose numbers these are."""
        ranks = self.ranks
        said = [
            f"{len(ranks.mean)} methods ranked by their means over the seeds in each of "
            f"{ranks.settings} settings."
        ]
        if ranks.test:
            said.append(
                f"Friedman's test: p = {ranks.test.p:.2g}. A bar joins methods that Nemenyi's test "
                "does not tell apart at 5 %. Settings on one data set are not independent, so that "
                "the tests are too sure."
            )
        else:
            said.append(
                "These are ranks on substitutes, not on the paper's experiments; none is tested."
            )
        if ranks.left_out:
            said.append(f"Not run in every setting and left out: {', '.join(ranks.left_out)}.")
        return " ".join(said)


def rank_title(table: Table, ranks: Ranks) -> str:
    """'Table I: mean ranks over 9 settings (1 is the best)', of which metric if it has several."""
    what = f", {Metric(ranks.metric).label}" if len(table.metrics) > 1 else ""
    return f"{table.title}{what}: mean ranks over {ranks.settings} settings (1 is the best)"
