"""Test accuracy of each class before and after one client's local training."""

from dataclasses import dataclass
from typing import ClassVar

from fedbench.analysis.scores import class_accuracy
from fedbench.base.checked import Count
from fedbench.base.errors import FedbenchError
from fedbench.engine.probe import Cells, Columns, Probe, Scene, require_classes
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class Changes(Probe):
    """Test accuracy of each class before and after one local round (ASD paper, Fig. 1).

    Table: round, client, label, count (the client's training samples of the class), held ('rare':
    fewer than half of an even share of its samples, else 'common'), before (of x_t), after (of
    y_i), fractions, and after minus before in points; not a number where the test set lacks the
    class. The global
    model is the run's own: methods are compared after each has trained its own. Cost: a pass
    through the test set for each of the clients, and one.
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

    at: Count | None = None  # the round; the last if null
    clients: Count = 2  # of the cohort, in ascending order

    def require(self, problem: Problem) -> None:
        """Classes, and a round that comes."""
        require_classes(self, problem)
        if self.at and self.at > problem.spec.rounds:
            raise FedbenchError(
                f"watch: changes at = {self.at}, but the run has {problem.spec.rounds} rounds"
            )

    def table(self, s: Scene) -> list[Cells]:
        """One row per client and class."""
        if not (s.r.round + 1 == self.at if self.at else s.last):
            return []
        before, counts = class_accuracy(s.problem, s.global_model), s.r.fed.labels
        rows: list[Cells] = []
        for i, model in list(zip(s.r.clients, s.local, strict=True))[: self.clients]:
            measured = zip(counts[i], before, class_accuracy(s.problem, model), strict=True)
            for label, (n, old, new) in enumerate(measured):
                held = "rare" if 2 * len(before) * n < counts[i].sum() else "common"
                seen = {"before": float(old), "after": float(new), "change": 100 * float(new - old)}
                own = {"round": s.r.round + 1, "client": int(i), "label": label, "count": int(n)}
                rows.append({**own, "held": held, **seen})
        return rows
