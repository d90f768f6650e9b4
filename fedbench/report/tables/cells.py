"""A cell of a paper's table: the printed number, the measured one, and the runs behind it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fedbench.paper.notation import Level
from fedbench.plan.printed import Place, Stat
from fedbench.plan.substitutions import Substitutions

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
    """A run behind a cell.

    `end` is the round after which it diverged, or is planned to end if it is too short. `tuned` is
    what a search chose for it. `at` tells it from the cell's other runs of the same seed:
    'α = 0.2'.
    """

    id: str
    seed: int
    status: Status
    value: float | None
    tuned: str = ""
    at: str = ""
    end: int = 0

    @property
    def name(self) -> str:
        """'seed 0', 'α = 0.2, seed 0'."""
        return ", ".join(filter(None, (self.at, f"seed {self.seed}")))

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return self.status is Status.DIVERGED


@dataclass(frozen=True)
class Pooled:
    """√(Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)) over `cells` cells, cell i of nᵢ seeds with deviation sᵢ.

    `freedom` is Σ (nᵢ − 1), the degrees of freedom.
    """

    std: float
    freedom: int
    cells: int


@dataclass(frozen=True)
class TableCell:
    """One cell of a table, in the table's unit; `coords` has the metric as one more axis.

    `pooled` is the deviation over seeds that it shares with the cells that differ from it in the
    method alone, or, in a table with one method, with the cells of its metric and data set. A cell
    with a diverged run has none: it varies by tens of points where the others do by one.
    `tuned_near_chance`: whether settings of its runs were chosen by trials near chance, and are as
    good as random.
    """

    place: Place
    coords: dict[str, Level]
    control: bool
    printed: Stat | None
    runs: tuple[Run, ...]
    substituted: Substitutions
    near: float | None = None  # below this, in the table's unit, a number is near chance
    tuned_near_chance: bool = False
    best: bool = False
    pooled: Pooled | None = None

    @property
    def contest(self) -> Contest:
        """What it shares with the cells that differ from it in the method alone."""
        return self.place.dataset, self.place.setting, self.place.metric

    @property
    def is_near_chance(self) -> bool:
        """Whether the measured mean is no better than what guessing may give."""
        return (
            self.near is not None and self.measured is not None and self.measured.mean < self.near
        )

    @property
    def measured_runs(self) -> tuple[Run, ...]:
        """The runs that have a value."""
        return tuple(run for run in self.runs if run.value is not None)

    @property
    def measured(self) -> Stat | None:
        """Mean and standard deviation over the measured runs; None if there is none."""
        return _over_seeds([run.value for run in self.measured_runs if run.value is not None])

    @property
    def spread(self) -> tuple[float, int] | None:
        """The standard deviation over the measured runs, none diverged, and their number."""
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
        if (
            self.substituted
            or self.tuned_near_chance
            or self.printed is None
            or self.measured is None
        ):
            return None
        return self.measured.mean - self.printed.mean


def _over_seeds(values: list[float]) -> Stat | None:
    """Mean and deviation of one value per seed; None of none.

    The mean is NaN if a value is, and infinite if a run did not reach what the metric asks for.
    """
    if not values:
        return None
    if not np.isfinite(values).all():
        return Stat(float("nan" if np.isnan(values).any() else "inf"), None)
    return Stat(float(np.mean(values)), float(np.std(values, ddof=1)) if values[1:] else None)
