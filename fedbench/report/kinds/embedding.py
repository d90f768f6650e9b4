"""A plane map of the models' features of the test set."""

from dataclasses import dataclass

from fedbench.checked import Checked, Count


@dataclass(frozen=True)
class Embedding(Checked):
    """The probe `embedding`'s points by class, of the global and of a local model, one run a panel.

    At most `points` of each model are drawn (FedGKD paper, Fig. 2).
    """

    points: Count = 2000
