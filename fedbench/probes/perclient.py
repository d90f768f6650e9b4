"""How accurate the global model is at each client, and how unequally."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.analysis.scores import class_accuracy, client_accuracy, require_tested, worst_tenth
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight, require_classes
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class PerClient(Probe):
    """Accuracy of the scored model at every client, on test data with that client's class shares.

    The accuracy at client i is Σ_c q_ic a_c, where a_c is the model's test accuracy of class c and
    q_ic the share of class c in the client's training data. Columns, at every evaluated round:
    client_accuracy, the unweighted mean over all clients; client_worst, the mean over the worst
    tenth of them; client_spread, their standard deviation (ddof = 1). Classes without test samples
    are left out, and so are clients that hold no other: a warning says how many when the run
    starts, and where there are some they stand in the column client_untested. Table, at the last
    round: client, accuracy. Cost: a pass through the test set.
    """

    COLUMNS: ClassVar[Columns] = {
        "client_accuracy": ("Mean accuracy at a client", "fraction", "higher"),
        "client_worst": ("Accuracy at the worst tenth of clients", "fraction", "higher"),
        "client_spread": ("Spread of accuracy over clients", "fraction", "lower"),
        "client_untested": ("Clients without test samples of their classes", "", "lower"),
    }
    TABLE: ClassVar[Columns] = {
        "client": ("Client", "", ""),
        "accuracy": ("Accuracy at the client", "fraction", "higher"),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have no classes, or no client has a tested one."""
        require_classes(self, problem)
        require_tested("perclient", problem)

    def see(self, s: Scene) -> Sight:
        """Measure the scored model in evaluated rounds."""
        if not s.evaluated:
            return Sight({}, [])
        each = client_accuracy(s.r.fed.labels, class_accuracy(s.problem, s.scored))
        sound = each[~each.isnan()]
        columns = {
            "client_accuracy": float(sound.mean()),
            "client_worst": float(worst_tenth(each)),
            "client_spread": float(sound.std()) if len(sound) > 1 else 0.0,
        }
        if len(sound) < len(each):  # where nobody is left out, no column says so
            columns["client_untested"] = float(len(each) - len(sound))
        return Sight(columns, _rows(each) if s.last else [])


def _rows(each: Tensor) -> list[Cells]:
    return [{"client": i, "accuracy": value} for i, value in enumerate(each.tolist())]
