"""Mean ranks of a table's methods, and which of them differ (Demšar, JMLR 2006)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper.metrics import Metric
from fedbench.paper.tables_and_figures import Table
from fedbench.report.tables.cells import TableCell, comparable, learned, with_same_seeds
from fedbench.report.values.leads import of_most

FEWEST = 3  # with fewer methods, or fewer settings, there are no ranks
MANY = 24  # more methods than this are listed, as bars between them could not be told apart
RISK = 0.05  # of calling two methods different that are not
_SEED = ";seed="  # before the number of a seed that is ranked as if it were a setting


@dataclass(frozen=True, eq=False)
class Significance:
    """p-value of Friedman's test, and of Nemenyi's for each pair (methods × methods)."""

    p: float
    pairs: pd.DataFrame
    distance: float  # the critical difference: mean ranks that are nearer are not told apart

    @property
    def apart(self) -> int:
        """How many pairs of methods it tells apart."""
        return int((self.pairs < RISK).to_numpy().sum()) // 2


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks by method; 1 is the best."""

    mean: pd.Series
    settings: int  # in each of which it was ranked, or, where `seeds` is not 0,
    seeds: int  # in each of so many seeds of them
    uneven: bool  # whether some methods have further seeds, which are not ranked
    near_chance: int  # settings that are left out because no method learned there
    awaited: int  # settings of which most methods have no run
    controls: frozenset[str]
    left_out: tuple[str, ...]  # methods that were not run in every setting
    test: Significance | None  # None where any run is a substitute: such ranks are not tested

    @property
    def first(self) -> int:
        """How many methods are not told apart from the one with the best mean rank, itself too."""
        return 0 if self.test is None else int((self.test.pairs[self.mean.index[0]] >= RISK).sum())

    @property
    def tells(self) -> bool:
        """Whether it was tested, and the critical difference is at most a third of the methods."""
        return self.test is not None and self.test.distance <= len(self.mean) / 3


def ranks(table: Table, cells: list[TableCell]) -> Ranks | None:
    """Rank the means over the seeds, or each seed apart, by the table's first metric.

    Left out are settings that no method learned, or that most methods lack, means of which a seed
    is not finished, and methods that lack a setting; the very same runs count once. None with fewer
    than three methods or settings. Means that are equal at the table's digits share their ranks.
    """
    metric = table.metrics[0]
    if not Metric(metric).is_ranked:
        return None
    every = [c for c in cells if c.place.metric == metric and c.place.method]
    by_seed = table.ranks == "seeds"
    planned = [piece for c in every for piece in _seeds(c)] if by_seed else with_same_seeds(every)
    asked = [c for c in planned if c.measured and not c.missing]
    sound = learned(asked)
    ranked = [c for c in asked if c.contest in sound]
    scores = _scores(ranked, table)
    usual = scores[of_most(scores)]
    full = usual.dropna(axis=1)
    if min(full.shape) < FEWEST:
        return None
    placed, settings = full.rank(axis=1, ascending=False), {c.contest for c in asked}
    whole = {str(place).partition(_SEED)[0] for place in full.index}
    return Ranks(
        mean=placed.mean().sort_values(kind="stable"),
        settings=len(whole),
        seeds=len(full) if by_seed else 0,
        uneven=not by_seed and sum(len(c.runs) for c in planned) < sum(len(c.runs) for c in every),
        near_chance=len(settings - sound),
        awaited=len({c.contest for c in planned} - settings) + len(scores) - len(usual),
        controls=frozenset(c.place.method for c in ranked if c.control),
        left_out=tuple(dict.fromkeys(c.place.method for c in every if c.place.method not in full)),
        test=None if any(c.substituted for c in ranked) else _test(placed),
    )


def _seeds(cell: TableCell) -> Iterator[TableCell]:
    """The cell as if each of its seeds were a setting of its own."""
    for seed in dict.fromkeys(run.seed for run in cell.runs):
        runs = tuple(run for run in cell.runs if run.seed == seed)
        place = replace(cell.place, setting=f"{cell.place.setting}{_SEED}{seed}")
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
    scores: dict[frozenset[str], tuple[str, dict[str, float]]] = {}  # the very same runs once
    for (dataset, setting, _), rivals in grouped(cells, lambda cell: cell.contest).items():
        runs = frozenset(run.id for cell in rivals for run in cell.measured_runs)
        of = {cell.place.method: comparable(cell, table) for cell in rivals}
        scores.setdefault(runs, (f"{dataset};{setting}", of))
    places = [place for place, _ in scores.values()]
    return pd.DataFrame([row for _, row in scores.values()], index=places)
