"""Mean ranks of a table's methods over its settings, and which methods differ in them.

Friedman's test asks whether any of them differ, Nemenyi's which pairs do (Demšar, JMLR 2006).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import sqrt

import pandas as pd

from fedbench.paper.items import Table
from fedbench.report.tables.cells import TableCell, comparable, is_near_chance
from fedbench.report.values.metrics import Metric

FEWEST = 3  # with fewer methods, or fewer settings, there are no ranks
MANY = 24  # more methods than this are listed, as bars between them could not be told apart
RISK = 0.05  # of calling two methods different that are not


@dataclass(frozen=True, eq=False)
class Significance:
    """p-value of Friedman's test, and of Nemenyi's for each pair (methods × methods).

    `distance` is the critical difference: mean ranks that are nearer are not told apart.
    """

    p: float
    pairs: pd.DataFrame
    distance: float


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks by method; 1 is the best.

    `metric` is what was ranked in so many `settings`, or with `seeds` in so many seeds of settings;
    `near_chance` counts the settings that are left out because no method learned there, `left_out`
    are methods that were not run in every setting. `test` is None where any of
    the runs is a substitute: such ranks are not tested.
    """

    metric: str
    mean: pd.Series
    settings: int
    seeds: bool
    near_chance: int
    controls: frozenset[str]
    left_out: tuple[str, ...]
    test: Significance | None

    @property
    def first(self) -> int:
        """How many methods are not told apart from the one with the best mean rank, itself too."""
        return 0 if self.test is None else int((self.test.pairs[self.mean.index[0]] >= RISK).sum())

    @property
    def counted(self) -> str:
        """'9 settings', '6 seeds of settings'."""
        return f"{self.settings} {'seeds of settings' if self.seeds else 'settings'}"


def ranks(table: Table, cells: list[TableCell]) -> Ranks | None:
    """Rank the means over the seeds, or each seed apart, by the table's first metric.

    Settings in which all methods are near chance are left out. None if fewer than three methods
    have a mean in every setting, if there are fewer than three settings, or if neither more nor
    less of the metric is better. Means are rounded to the digits that the table shows; those that
    then are equal share their ranks, and what is not finite ranks last. Settings that consist of
    the very same runs count once.
    """
    metric = table.metrics[0]
    if not Metric(metric).is_ranked:
        return None
    means = [c for c in cells if c.place.metric == metric and c.place.method and c.measured]
    by_seed = table.ranks == "seeds"
    asked = [piece for c in means for piece in _seeds(c)] if by_seed else means
    learned = {_setting(c) for c in asked if not is_near_chance(c)}
    ranked = [c for c in asked if _setting(c) in learned]
    scores = _scores(ranked, table)
    full = scores.dropna(axis=1)
    if min(full.shape) < FEWEST:
        return None
    placed = full.rank(axis=1, ascending=False)
    return Ranks(
        metric,
        placed.mean().sort_values(kind="stable"),
        len(full),
        by_seed,
        len({_setting(c) for c in asked} - learned),
        frozenset(c.place.method for c in ranked if c.control),
        tuple(str(name) for name in scores if name not in full),
        None if any(c.substituted for c in ranked) else _test(placed),
    )


def _seeds(cell: TableCell) -> Iterator[TableCell]:
    """The cell as if each of its seeds were a setting of its own."""
    for seed in dict.fromkeys(run.seed for run in cell.measured_runs):
        runs = tuple(run for run in cell.measured_runs if run.seed == seed)
        place = replace(cell.place, setting=f"{cell.place.setting};seed={seed}")
        yield replace(cell, place=place, runs=runs)


def _test(placed: pd.DataFrame) -> Significance:
    from scikit_posthocs import posthoc_nemenyi_friedman  # seconds that few commands need
    from scipy import stats

    p = float(stats.friedmanchisquare(*(placed[name] for name in placed)).pvalue)
    n, k = placed.shape
    apart = stats.studentized_range.ppf(1 - RISK, k, float("inf")) / sqrt(2)
    distance = float(apart) * sqrt(k * (k + 1) / (6 * n))
    return Significance(p, posthoc_nemenyi_friedman(placed), distance)


def _scores(cells: list[TableCell], table: Table) -> pd.DataFrame:
    """Settings × methods, more is better; NaN where a setting lacks a method."""
    scores: dict[str, dict[str, float]] = {}
    runs: dict[str, set[str]] = {}
    for cell in cells:
        place = _setting(cell)
        scores.setdefault(place, {})[cell.place.method] = comparable(cell, table)
        runs.setdefault(place, set()).update(run.id for run in cell.measured_runs)
    once = {frozenset(ids): place for place, ids in reversed(runs.items())}
    return pd.DataFrame([scores[place] for place in scores if place in once.values()])


def _setting(cell: TableCell) -> str:
    return f"{cell.place.dataset};{cell.place.setting}"


@dataclass(frozen=True)
class RanksOnPage:
    """A diagram of mean ranks and its caption, ready to stand in a page."""

    key: str
    title: str
    ranks: Ranks
    svg: str = field(repr=False)

    @property
    def caption(self) -> str:
        """How many settings were ranked, what the tests say, and which methods are left out."""
        ranks = self.ranks
        sentences = [
            f"{len(ranks.mean)} methods ranked "
            + ("" if ranks.seeds else "by their means over the seeds ")
            + f"in each of {ranks.counted}."
        ]
        if ranks.test:
            sentences.append(
                f"Friedman's test: p = {ranks.test.p:.2g}. "
                f"{_told(ranks.test, len(ranks.mean) > MANY)} "
                f"{ranks.first} of {len(ranks.mean)} methods are not told apart from the first. "
                f"{'Seeds of one setting' if ranks.seeds else 'Settings on one data set'} are not "
                "independent of each other, so that the tests find differences too easily."
            )
        else:
            sentences.append(
                "The runs are substitutes for the paper's experiments, so that no difference "
                "between the ranks is tested."
            )
        if ranks.near_chance:
            sentences.append(
                f"{ranks.near_chance} more are left out, in which no method is more than half as "
                "good again as guessing."
            )
        if ranks.left_out:
            sentences.append(
                f"Left out, as they were not run in every setting: {', '.join(ranks.left_out)}."
            )
        return " ".join(sentences)


def _told(test: Significance, many: bool) -> str:
    """How the diagram shows methods that are not told apart."""
    apart = f"whose mean ranks are less than {test.distance:.2f} apart: their order says nothing"
    if many:
        return (
            f"Nemenyi's test does not tell methods apart at 5 % {apart}; shaded from the first on."
        )
    return f"A bar joins methods that Nemenyi's test does not tell apart at 5 %, {apart}."


def rank_title(table: Table, ranks: Ranks, group: str = "") -> str:
    """'Table I: mean ranks over 9 settings (1 is the best)', with the metric if it has several.

    group: the title of the group of rows whose cells alone are ranked.
    """
    what = f", {Metric(ranks.metric).label}" if len(table.metrics) > 1 else ""
    where = f", {group}" if group else ""
    return f"{table.title}{where}{what}: mean ranks over {ranks.counted} (1 is the best)"
