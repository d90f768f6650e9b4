"""The bare loop that everything is compared with: nn.Module, torch.optim.SGD, no framework.

It draws the cohorts and the mini-batches that fedbench draws, and ends with the same weights.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from fedbench.base import seeds
from fedbench.core.rng import torch_generator
from speed.workload import Workload


class BareLoop:
    """Federated averaging by hand: call `round`; `weights` is the global model."""

    def __init__(self, workload: Workload, net: nn.Module) -> None:
        self.workload, self.net = workload, net
        self.x, self.y = workload.images()
        self.weights = [p.detach().clone() for p in net.parameters()]
        self._round = 0

    def round(self) -> None:
        """Train the cohort's clients one after the other, and average their models."""
        totals = [torch.zeros_like(w) for w in self.weights]
        for client in cohort(self.workload, self._round):
            self._train(client)
            for total, p in zip(totals, self.net.parameters(), strict=True):
                total += p.detach()
        self.weights = [total / self.workload.cohort for total in totals]
        self._round += 1

    def _train(self, client: int) -> None:
        with torch.no_grad():
            for p, w in zip(self.net.parameters(), self.weights, strict=True):
                p.copy_(w)
        optimiser = torch.optim.SGD(self.net.parameters(), lr=self.workload.lr)
        for rows in batches(self.workload, self._round, client):
            optimiser.zero_grad()
            logits = self.net(self.x[rows].float().div_(255))
            nn.functional.cross_entropy(logits, self.y[rows]).backward()
            optimiser.step()


def cohort(workload: Workload, t: int) -> list[int]:
    """The clients that fedbench draws for round t of the seed 0 (conventions 11 and 12)."""
    rng = seeds.numpy_generator(0, t, seeds.EVERYONE, "cohort")
    chosen = rng.choice(workload.clients, size=workload.cohort, replace=False)
    return sorted(int(i) for i in chosen)


def batches(workload: Workload, t: int, client: int) -> Iterator[Tensor]:
    """The mini-batches that fedbench draws for a client in round t of the seed 0."""
    rng = torch_generator(0, t, client, "batches")
    order = torch.randperm(workload.samples, generator=rng) + workload.rows(client).start
    return iter(torch.split(order, workload.batch))
