"""Personalised accuracy: each client of a round is scored with its own model."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.analysis.scores import class_accuracy, client_accuracy, require_tested, worst_tenth
from fedbench.core.flat import Model
from fedbench.engine.probe import Columns, Probe, Scene, require_classes
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class Personal(Probe):
    """Accuracy of the cohort's own models after local training, each on its client's class shares.

    A client's test data have the class shares of its training data, as for the probe `perclient`;
    clients that hold only classes without test samples are left out, which a warning says.
    Columns, at every evaluated round: personal_accuracy, the mean over the cohort; personal_worst,
    the mean over its worst tenth, at least one client; personal_gain, by how much the first is
    above the accuracy of the global model that the round began with, on the same clients. To
    retrain the classifier alone, for all clients, use the probe `calibration`. Cost: a pass through
    the test set for each client of the cohort, and one more.
    """

    COLUMNS: ClassVar[Columns] = {
        "personal_accuracy": ("Accuracy of a client's own model", "fraction", "higher"),
        "personal_worst": ("Own model at the worst tenth of clients", "fraction", "higher"),
        "personal_gain": ("Gain of the own over the global model", "fraction", "higher"),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have no classes, or no client has a tested one."""
        require_classes(self, problem)
        require_tested("personal", problem)

    def row(self, s: Scene) -> dict[str, float]:
        """Score each client of the cohort with its own model, and with the global one."""
        held = s.r.fed.labels[torch.as_tensor(s.r.clients, device=s.r.fed.labels.device)]
        own = torch.cat([_at(s, model, held[[i]]) for i, model in enumerate(s.local)])
        before = _at(s, s.global_model, held)
        return {
            "personal_accuracy": float(own.nanmean()),
            "personal_worst": float(worst_tenth(own)),
            "personal_gain": float((own - before).nanmean()),
        }


def _at(s: Scene, model: Model, held: Tensor) -> Tensor:
    """The model's accuracy at the clients that hold these labels (clients, C)."""
    return client_accuracy(held, class_accuracy(s.problem, model))
