"""Scores the mean of the last two global models."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Round


@dataclass(frozen=True)
class MeanOfTwo(Part):
    """Score (x_t + x_{t+1})/2, and x_1 after the first round; training is left alone.

    FedExP's evaluation (Jhunjhunwala, Wang & Joshi, ICLR 2023, and their code): its iterates swing
    around the optimum. Norm statistics are x_{t+1}'s.
    """

    MODELS: ClassVar[tuple[str, ...]] = ("two",)

    leads: bool = True  # False: x_{t+1} stays the headline

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """The mean as 'two'; r.w is x_t."""
        named = {"two": (r.w + w) / 2 if r.round else w}
        return named if self.leads else {"next": w} | named

    def cost(self, size: Sizes) -> Cost:
        """The iterate before."""
        return Cost(server_memory=size.d)
