"""One cell of a table: the printed number, the measured one, and the runs behind it."""

from dataclasses import dataclass

from fedbench.paper.places import Level
from fedbench.plan.printed import Place, Stat


@dataclass(frozen=True)
class Run:
    """A run behind a cell.

    `state` is 'finished', 'diverged at round n', 'missing', or 'ends at round n' if the table asks
    for a later round. `tuned` is what a search chose for it. `at` tells it apart from the cell's
    other runs of the same seed: 'α = 0.2'.
    """

    id: str
    seed: int
    state: str
    value: float | None
    tuned: str = ""
    at: str = ""

    @property
    def name(self) -> str:
        """'seed 0', 'α = 0.2, seed 0'."""
        return ", ".join(filter(None, (self.at, f"seed {self.seed}")))

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return self.state.startswith("diverged")


@dataclass(frozen=True)
class TableCell:
    """One cell of a table, in the table's unit; `coords` has the metric as one more axis."""

    place: Place
    coords: dict[str, Level]
    control: bool
    printed: Stat | None
    runs: tuple[Run, ...]
    substituted: str
    best: bool = False

    @property
    def measured_runs(self) -> tuple[Run, ...]:
        """The runs that have a value."""
        return tuple(run for run in self.runs if run.value is not None)

    @property
    def measured(self) -> Stat | None:
        """Mean and standard deviation over the measured runs; None if there is none."""
        return Stat.of([run.value for run in self.measured_runs if run.value is not None])

    @property
    def missing(self) -> tuple[Run, ...]:
        """The planned runs that have not been collected."""
        return tuple(run for run in self.runs if run.state == "missing")

    @property
    def diverged(self) -> int:
        """How many of the measured runs ended early."""
        return sum(run.diverged for run in self.measured_runs)

    @property
    def difference(self) -> float | None:
        """Measured minus printed; None where anything was substituted."""
        if self.substituted or self.printed is None or self.measured is None:
            return None
        return self.measured.mean - self.printed.mean
