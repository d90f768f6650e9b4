"""Scores the mean of the last two global models."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.core.part import Part
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class MeanOfTwo(Part):
    """Score (x_t + x_{t+1})/2, and x_1 after the first round.

    Jhunjhunwala, Wang & Joshi (FedExP, ICLR 2023) score this model, since FedExP's global models
    oscillate around the optimum. Training does not change; norm buffers are x_{t+1}'s.
    """

    MODELS = ("two",)

    leads: bool = True  # whether it is scored before x_{t+1}, so that it gives the run's accuracy

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score the mean, as 'two'."""
        named = {"two": (r.w + w) / 2 if r.round else w}
        return named if self.leads else {"next": w} | named
