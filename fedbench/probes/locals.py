"""Test accuracy of the cohort's local models."""

from dataclasses import dataclass
from typing import ClassVar

from fedbench.analysis.scores import mean_accuracy
from fedbench.engine.probe import Columns, Probe, Scene, require_classes
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class Locals(Probe):
    """Mean accuracy of the cohort's local models on the whole test set.

    FedGKD paper, Fig. 2. Column: local_accuracy, the mean over the cohort, at every evaluated
    round. Cost: a pass through the test set for each client of the cohort.
    """

    COLUMNS: ClassVar[Columns] = {
        "local_accuracy": (
            "Accuracy of a client's model, mean over the round's clients",
            "fraction",
            "higher",
        ),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have no classes."""
        require_classes(self, problem)

    def row(self, s: Scene) -> dict[str, float]:
        """Return the mean accuracy over the cohort."""
        return {"local_accuracy": mean_accuracy(s.problem, s.local)}
