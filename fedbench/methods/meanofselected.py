"""Scores the mean of the models that this round's clients trained."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.core.part import Part
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class MeanOfSelected(Part):
    """Score (1/m) Σ_S y_i, whatever the server makes of the models.

    FedDyn's authors and the ASD paper's code score this model. Training does not change; norm
    buffers are x_{t+1}'s.
    """

    MODELS = ("selected",)

    leads: bool = True  # whether it is scored before x_{t+1}, so that it gives the run's accuracy

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score the mean, as 'selected'."""
        named = {"selected": r.cohort_mean()}
        return named if self.leads else {"next": w} | named
