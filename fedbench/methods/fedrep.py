"""FedRep: the clients share a representation and keep heads of their own."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.base.checks import Share
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Turn, pack


@dataclass(frozen=True)
class FedRep(Part):
    """First the client's own head is trained, then the body; only the body is averaged.

    Collins et al., "Exploiting Shared Representations for Personalized Federated Learning", ICML
    2021, algorithm 1. The first ⌈head · H⌉ of H local steps move the head alone, the others the
    body alone; there are at least one of each if H > 1. Its score is that of the clients' own
    models: `personal_accuracy` of the probe `personal`. The global head stays x_0's.
    """

    needs_head = True
    starts_elsewhere = True
    OWN = "own"

    head: Share = 0.5  # of the local steps; in the paper's CIFAR runs 10 of 11 epochs

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The global body with the own head."""
        t.scratch["head"] = t.fed.net.head_mask().to(w.device)
        return torch.where(t.scratch["head"], t.state["own"], w)

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The step of the head, or of the body."""
        first = max(1, min(t.H - 1, math.ceil(round(self.head * t.H, 6))))  # 0.55 · 100 is over 55
        head = t.scratch["head"]
        return torch.where(head if t.k < first else ~head, step, torch.zeros_like(step))

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the own model; upload the change of the body."""
        t.state |= pack(t.y, "own")
        return torch.where(t.scratch["head"], torch.zeros_like(delta), delta)

    def cost(self, size: Sizes) -> Cost:
        """A client stores a model."""
        return Cost(client_memory=size.d, ops_begin=1, ops_step=1, ops_end=2)
