"""Scores the mean of all clients' latest models."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.core.ops import swap_rows
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State


@dataclass(frozen=True)
class MeanOfAll(Part):
    """Score (1/K) Σ_i y_i, y_i the latest model of client i, or x_0 if it never took part.

    ASD paper: "we average across all the client models"; FedDyn's authors plot this model. The
    server stores y_i − x_0 and their mean. Training does not change; norm buffers are x_{t+1}'s.
    """

    MODELS = ("all",)

    leads: bool = True  # whether it is scored before x_{t+1}, so that it gives the run's accuracy

    def server(self, w: Tensor, fed: Federation) -> State:
        """Every y_i starts at x_0."""
        return {"shifts": fed.table(), "mean": torch.zeros_like(w)}

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store the cohort's models; the global update is left as it is."""
        shifts = r.models - r.fed.start.w
        change = shifts - swap_rows(r.state["shifts"], list(r.clients), shifts)
        r.state["mean"] = r.state["mean"] + change.sum(0) / r.fed.K
        return d

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score the mean, as 'all'."""
        named = {"all": r.fed.start.w + r.state["mean"]}
        return named if self.leads else {"next": w} | named

    def cost(self, size: Sizes) -> Cost:
        """The server stores K vectors and their mean."""
        return Cost(server_memory=(size.K + 1) * size.d, ops_maintain=2 * size.m + 1)
