"""Test accuracy per class, before and after the local training of some clients."""

from dataclasses import dataclass
from typing import ClassVar

from fedbench.analysis.scores import class_accuracy
from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.engine.probe import Cells, Columns, Probe, Scene, require_classes
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class Changes(Probe):
    """Test accuracy per class before and after a client's local training (ASD paper, Fig. 1).

    Table: round, client, label; count, the client's training samples of the class; held, 'rare' if
    they are fewer than half of n_i / C, else 'common'; before (accuracy of x_t) and after (of y_i),
    as fractions; change, their difference in percentage points. The last three are NaN where the
    test set lacks the class. x_t is this run's global model, so that methods are compared at
    different models. Cost: a pass through the test set for each of the clients and for x_t.
    """

    TABLE: ClassVar[Columns] = {
        "round": ("Communication round", "", ""),
        "client": ("Client", "", ""),
        "label": ("Class", "", ""),
        "count": ("Training samples of the class", "", ""),
        "held": ("Rare or common at the client", "", ""),
        "before": ("Accuracy before the local round", "fraction", "higher"),
        "after": ("Accuracy after the local round", "fraction", "higher"),
        "change": ("Change of accuracy", "percentage points", "higher"),
    }

    at: Count | None = None  # the round to measure; null: the last
    clients: Count = 2  # how many, from the cohort in ascending order

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without classes, or if round `at` is after the last."""
        require_classes(self, problem)
        if self.at and self.at > problem.spec.rounds:
            raise FedbenchError(
                f"watch: changes at = {self.at}, but the run has {problem.spec.rounds} rounds"
            )

    def table(self, s: Scene) -> list[Cells]:
        """Return one row per client and class."""
        if not (s.r.round + 1 == self.at if self.at else s.last):
            return []
        before, counts = class_accuracy(s.problem, s.global_model), s.r.fed.labels
        rows: list[Cells] = []
        for i, model in list(zip(s.r.clients, s.local, strict=True))[: self.clients]:
            measured = zip(counts[i], before, class_accuracy(s.problem, model), strict=True)
            for label, (n, old, new) in enumerate(measured):
                held = "rare" if 2 * len(before) * n < counts[i].sum() else "common"
                scores = {
                    "before": float(old),
                    "after": float(new),
                    "change": 100 * float(new - old),
                }
                about = {"round": s.r.round + 1, "client": int(i), "label": label, "count": int(n)}
                rows.append({**about, "held": held, **scores})
        return rows
