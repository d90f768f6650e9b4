"""Scores the mean of the models that this round's clients trained."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.core.part import Part
from fedbench.core.round import Round


@dataclass(frozen=True)
class MeanOfSelected(Part):
    """Score (1/m) Σ_S y_i, whatever the server made of it; training is left alone.

    What FedDyn's authors and the ASD paper's code score. Norm statistics are x_{t+1}'s.
    """

    MODELS: ClassVar[tuple[str, ...]] = ("selected",)

    leads: bool = True  # False: x_{t+1} stays the headline

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """The mean as 'selected'."""
        named = {"selected": r.cohort_mean()}
        return named if self.leads else {"next": w} | named
