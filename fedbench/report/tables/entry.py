"""One cell of a table: the printed number, the measured one, and the runs behind it."""

from dataclasses import dataclass

from fedbench.paper.places import Level
from fedbench.plan.printed import Place, Stat


@dataclass(frozen=True)
class Run:
    """A run behind a cell.

    `state` is 'finished', 'diverged at round n', 'missing', or, where a later round is asked for,
    'ends at round n'. `at`: what tells it from the cell's other runs beside its seed: 'α = 0.2'.
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
class Entry:
    """One cell of a table, in the table's unit; `coords` has the metric among its axes."""

    place: Place
    coords: dict[str, Level]
    control: bool
    printed: Stat | None
    runs: tuple[Run, ...]
    substituted: str
    best: bool = False

    @property
    def found(self) -> tuple[Run, ...]:
        """The runs that were measured."""
        return tuple(run for run in self.runs if run.value is not None)

    @property
    def measured(self) -> Stat | None:
        """Mean and standard deviation over the runs found."""
        return Stat.of([run.value for run in self.found if run.value is not None])

    @property
    def missing(self) -> tuple[Run, ...]:
        """Runs that the plan has and the results have not."""
        return tuple(run for run in self.runs if run.state == "missing")

    @property
    def diverged(self) -> int:
        """How many of the runs found ended early."""
        return sum(run.diverged for run in self.found)

    @property
    def difference(self) -> float | None:
        """Measured minus printed; None where anything was substituted."""
        if self.substituted or self.printed is None or self.measured is None:
            return None
        return self.measured.mean - self.printed.mean
