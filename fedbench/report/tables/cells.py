"""A cell of a paper's table, the runs behind it, and which of the cells that compete is best."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

import numpy as np

from fedbench.base.grouping import grouped
from fedbench.paper.grid_points import Substitutions
from fedbench.paper.metrics import Metric
from fedbench.paper.printed_numbers import Place, Stat
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import Level

Contest = tuple[str, str, str]  # data set, setting and metric


class Status(StrEnum):
    """What is known of a planned run, as a table asks for a number of it."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    MISSING = "missing"
    TOO_SHORT = "too short"  # the table asks for a later round than the run's last
    NO_NUMBER = "no number"  # it did not measure what is asked for


@dataclass(frozen=True)
class Run:
    """A run behind a cell."""

    id: str
    seed: int
    status: Status
    value: float | None
    tuned: str = ""  # what a search chose for it
    at: str = ""  # what tells it from the cell's other runs of the same seed: 'α = 0.2'
    end: int = 0  # the round after which it diverged, or is planned to end if it is too short

    @property
    def name(self) -> str:
        """'seed 0', 'α = 0.2, seed 0'."""
        return ", ".join(filter(None, (self.at, f"seed {self.seed}")))

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return self.status is Status.DIVERGED


class Pooled(NamedTuple):
    """√(Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)) over `cells` cells, cell i of nᵢ seeds with deviation sᵢ."""

    std: float
    freedom: int  # Σ (nᵢ − 1)
    cells: int


@dataclass(frozen=True)
class TableCell:
    """One cell of a table, in the table's unit; `coords` has the metric as one more axis."""

    place: Place
    coords: dict[str, Level]
    control: bool
    printed: Stat | None
    runs: tuple[Run, ...]
    substituted: Substitutions
    near: float | None = None  # below this, in the table's unit, a number is near chance
    tuned_near_chance: bool = False  # settings were chosen by trials near chance: as good as random
    best: bool = False
    pooled: Pooled | None = None  # the deviation over seeds that it shares with like cells

    @property
    def contest(self) -> Contest:
        """What it shares with the cells that differ from it in the method alone."""
        return self.place.dataset, self.place.setting, self.place.metric

    @property
    def is_near_chance(self) -> bool:
        """Whether the measured mean is no better than what guessing may give."""
        return bool(self.near and self.measured and self.measured.mean < self.near)

    @property
    def measured_runs(self) -> tuple[Run, ...]:
        """The runs that have a value."""
        return tuple(run for run in self.runs if run.value is not None)

    @property
    def measured(self) -> Stat | None:
        """Over the measured runs; infinite if a run did not reach what the metric asks for."""
        values = [run.value for run in self.runs if run.value is not None]
        if not values:
            return None
        mean = float(np.mean(values))
        varied = len(values) > 1 and math.isfinite(mean)
        return Stat(mean, float(np.std(values, ddof=1)) if varied else None)

    @property
    def spread(self) -> tuple[float, int] | None:
        """The standard deviation, and of how many runs; None where one diverged."""
        std = self.measured.std if self.measured and not self.diverged else None
        return None if std is None else (std, len(self.measured_runs))

    @property
    def missing(self) -> tuple[Run, ...]:
        """The planned runs that have not been collected."""
        return tuple(run for run in self.runs if run.status is Status.MISSING)

    @property
    def awaited(self) -> bool:
        """Whether a number is still to come: it is not where finished runs have no such number."""
        return len(self.missing) == len(self.runs)

    @property
    def diverged(self) -> int:
        """How many of the measured runs ended early."""
        return sum(run.diverged for run in self.measured_runs)

    @property
    def difference(self) -> float | None:
        """Measured minus printed; None where anything was substituted, or chosen near chance."""
        unlike = self.substituted or self.tuned_near_chance
        if unlike or self.printed is None or self.measured is None:
            return None
        return self.measured.mean - self.printed.mean


def comparable(cell: TableCell, table: Table) -> float:
    """The measured mean at the table's digits, of which more is better; −∞ if it is not finite.

    What runs cost that diverged, and so ended early, is no cost to compare.
    """
    metric, lost = Metric(cell.place.metric), float("nan")
    mean = cell.measured.mean if cell.measured else lost
    mean = lost if metric.is_cost and cell.diverged else mean
    sign = -1 if metric.lower_is_better else 1
    return sign * round(mean, table.digits) if math.isfinite(mean) else -math.inf


def mark_best(cells: Sequence[TableCell], table: Table) -> list[TableCell]:
    """Mark the best method's cell among those cells that differ in the method alone.

    All that tie at the table's digits are marked, but none if they are more than half, none that is
    near chance or stands beside settings chosen near it, and none while a method has a run, such as
    a further seed, that another one lacks.
    """
    best: dict[Contest, float] = {}  # its best score; not a number if it has no best one
    contests = grouped((cell for cell in cells if not cell.control), lambda cell: cell.contest)
    for contest, rivals in contests.items():
        there = {frozenset(run.name for run in x.runs if run not in x.missing) for x in rivals}
        uneven = len(there) > 1 or frozenset() in there or any(x.tuned_near_chance for x in rivals)
        scores = [comparable(cell, table) for cell in rivals if cell.measured]
        top = max(scores, default=-math.inf)
        ranked = Metric(contest[2]).is_ranked and len(scores) > 1 and top > -math.inf
        leads = ranked and not uneven and 2 * scores.count(top) <= len(scores)
        best[contest] = top if leads else math.nan
    may = [not cell.control and not cell.is_near_chance for cell in cells]
    return [
        replace(cell, best=ranked and comparable(cell, table) == best[cell.contest])
        for cell, ranked in zip(cells, may, strict=True)
    ]


def learned(cells: Iterable[TableCell]) -> set[Contest]:
    """The contests in which some cell is not near chance, and none was tuned by trials near it."""
    asked = list(cells)
    found = {cell.contest for cell in asked if not cell.is_near_chance}
    return found - {cell.contest for cell in asked if cell.tuned_near_chance}


def in_order(table: Table, cells: Sequence[TableCell]) -> list[TableCell]:
    """The cells as listed, or those of the best method first, by the first metric they have.

    A method with fewer settings than others, whose means are not comparable, comes after them.
    """
    if table.order == "as listed":
        return list(cells)
    there = {cell.place.metric for cell in cells}
    first = next((metric for metric in table.metrics if metric in there), "")
    asked = [cell for cell in cells if cell.place.metric == first]
    by_method = grouped(asked, lambda cell: cell.coords.get("method")).items()
    scores = {method: [comparable(x, table) for x in of] for method, of in by_method}
    places = {
        name: (-len(values), -math.fsum(values) / len(values)) for name, values in scores.items()
    }
    return sorted(cells, key=lambda cell: places[cell.coords.get("method")])


def with_same_seeds(cells: Iterable[TableCell]) -> list[TableCell]:
    """The cells with the seeds of more than half of a contest's methods; none that lacks one."""
    trimmed = []
    for rivals in grouped(cells, lambda cell: cell.contest).values():
        seeds = [{run.seed for run in cell.runs} for cell in rivals]
        times = Counter(chain.from_iterable(seeds))
        usual = {seed for seed, number in times.items() if 2 * number > len(rivals)}
        for cell in (cell for cell, own in zip(rivals, seeds, strict=True) if usual <= own):
            runs = tuple(run for run in cell.runs if run.seed in usual)
            trimmed.append(replace(cell, runs=runs))
    return trimmed
