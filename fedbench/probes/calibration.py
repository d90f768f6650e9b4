"""Personalised accuracy after each client calibrated its classifier."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import pandas as pd

from fedbench.analysis import calibration
from fedbench.analysis.scores import mean_accuracy
from fedbench.base.checks import Fraction, Natural, NonNegative, Positive
from fedbench.core.part import Part
from fedbench.engine.probe import Columns, Probe, Scene, Sight
from fedbench.engine.problem import Problem
from fedbench.methods.fedprox import FedProx
from fedbench.methods.selfconfidence import SelfConfidence

_NAMES = ("client", "kind", "accuracy")


@dataclass(frozen=True)
class Calibration(Probe):
    """Personalised accuracy of the final model by classifier calibration (FedADC paper, Fig. 7).

    Table: client, kind, accuracy on the client's test share; clients with an empty share are left
    out. The kind 'global' is the scored model before calibration; 'none', 'prox' and 'distil' are
    after calibration without regularisation, with a proximal term, or with self-distillation.

    Columns, at the last round: personal_global, personal_none, personal_prox, personal_distil, the
    unweighted means over the clients of the table; personal_gain_lowest and personal_gain_highest,
    the gains of the other three over the first, as the paper prints them;
    personal_gain_whole_lowest and personal_gain_whole_highest, their gains over the scored model's
    accuracy on the whole test set; personal_clients, the number of clients in the table.
    Cost: three times, training and test set once through the body, and `epochs` passes of every
    client's data through the classifier.
    """

    COLUMNS: ClassVar[Columns] = {
        "personal_global": ("Global model", "fraction", "higher"),
        "personal_none": ("Last layer retrained", "fraction", "higher"),
        "personal_prox": ("Retrained, proximal term", "fraction", "higher"),
        "personal_distil": ("Retrained, self-distillation", "fraction", "higher"),
        "personal_gain_lowest": ("Lowest gain", "fraction", "higher"),
        "personal_gain_highest": ("Highest gain", "fraction", "higher"),
        "personal_gain_whole_lowest": ("Lowest gain over the whole test set", "fraction", "higher"),
        "personal_gain_whole_highest": (
            "Highest gain over the whole test set",
            "fraction",
            "higher",
        ),
        "personal_clients": ("Clients with a test share", "", ""),
    }
    TABLE: ClassVar[Columns] = {
        "client": ("Client", "", ""),
        "kind": ("Calibration", "", ""),
        "accuracy": ("Accuracy on the client's test share", "fraction", "higher"),
    }

    epochs: Natural = 2
    lr: Positive | None = None  # null: the run's; the paper's grid is 0.1, 0.05, 0.03, 0.01
    mu: NonNegative = 0.01  # of the proximal term; the paper's grid is 0.1, 0.01, 0.001
    lam: Fraction = 0.35  # of the self-confidence distillation
    test_split: Literal["mirrored", "independent"] = "mirrored"

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the model has no classifier, or the test set cannot be split."""
        calibration.require_classifier(problem)
        calibration.shares(problem, self.test_split)

    def see(self, s: Scene) -> Sight:
        """Measure all kinds at the last round."""
        if not s.last:
            return Sight({}, [])
        table = pd.concat(self._kinds(s), ignore_index=True).dropna()
        means = {str(kind): float(each.mean()) for kind, each in table.groupby("kind")["accuracy"]}
        columns = {f"personal_{kind}": mean for kind, mean in means.items()}
        calibrated = [means[kind] for kind in self._parts()]
        columns |= _gains("personal_gain", calibrated, means["global"])
        columns |= _gains("personal_gain_whole", calibrated, mean_accuracy(s.problem, [s.scored]))
        columns["personal_clients"] = float(table["client"].nunique())
        rows = table.itertuples(index=False, name=None)
        return Sight(columns, [dict(zip(_NAMES, row, strict=True)) for row in rows])

    def _kinds(self, s: Scene) -> Iterator[pd.DataFrame]:
        """Tables (client, kind, accuracy); accuracy is NaN where a client's share is empty."""
        how = calibration.Calibration(self.epochs, self.lr, self.test_split)
        for kind, parts in self._parts().items():
            clients = calibration.calibrate(s.problem, s.scored, parts, how).clients
            if kind == "none":
                global_model = clients["global_accuracy"]
                yield _column(clients, "global", global_model)
            yield _column(clients, kind, clients["accuracy"])

    def _parts(self) -> dict[str, tuple[Part, ...]]:
        prox, distil = FedProx(self.mu), SelfConfidence(self.lam)
        return {"none": (), "prox": (prox,), "distil": (distil,)}


def _gains(name: str, calibrated: list[float], start: float) -> dict[str, float]:
    """The lowest and the highest gain of calibration over the accuracy `start`."""
    return {f"{name}_lowest": min(calibrated) - start, f"{name}_highest": max(calibrated) - start}


def _column(clients: pd.DataFrame, kind: str, accuracy: "pd.Series[float]") -> pd.DataFrame:
    return pd.DataFrame({"client": clients["client"], "kind": kind, "accuracy": accuracy})
