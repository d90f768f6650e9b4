"""Trains the clients of a cohort in parallel threads; the number of threads changes no result."""

from collections.abc import Sequence
from typing import Any

import torch

from fedbench.engine.gang import train_together
from fedbench.engine.groups import at_once, grouped, in_step, stacked_net
from fedbench.engine.local import ClientResult, LocalTask, RoundStart
from fedbench.engine.local_round import local_round
from fedbench.engine.lockstep import train_in_step
from fedbench.engine.threads import Threads
from fedbench.engine.turns import PreparedClient, dropout


class Workers:
    """Threads that each train one group of clients at a time, until the cohort is done.

    `batch`: the largest number of samples per step; `cohort`: the clients of a round. Where clients
    depend on each other they are trained one after the other, and `one_because` says why.
    """

    def __init__(self, task: LocalTask, threads: Threads, batch: int, cohort: int) -> None:
        self._task, self.one_because = task, _dependence(task)
        self._threads = Threads(1) if self.one_because else threads
        self._stacked = None if self.one_because else stacked_net(task, batch)
        self._largest = at_once(task, batch, cohort) if self._stacked else 1
        self._together = train_in_step if in_step(task, batch) else train_together

    @property
    def described(self) -> dict[str, Any]:
        """Their number, and why there is one, for the record of a run."""
        reason = {"one_worker_because": self.one_because} if self.one_because else {}
        return {"workers": self._threads.count, "clients_at_once": self._largest, **reason}

    def train(self, start: RoundStart, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        """The clients' results, in the clients' order."""
        groups = self._groups(clients)

        def train(group: list[int]) -> list[ClientResult]:
            return self._train(start, [clients[i] for i in group])

        by_group = zip(groups, self._threads.map(train, groups), strict=True)
        results = {i: one for group, all_ in by_group for i, one in zip(group, all_, strict=True)}
        return [results[i] for i in range(len(clients))]

    def _groups(self, clients: Sequence[PreparedClient]) -> list[list[int]]:
        """Those with most steps first, so that none is left at the end; else in their order."""
        if self.one_because:
            return [[i] for i in range(len(clients))]
        return grouped([len(client.batches.rows) for client in clients], self._largest)

    def _train(self, start: RoundStart, group: Sequence[PreparedClient]) -> list[ClientResult]:
        if self._stacked is None or len(group) == 1:
            return [train_alone(self._task, start, client) for client in group]
        return self._together(self._task, self._stacked, start, group)


def train_alone(task: LocalTask, start: RoundStart, client: PreparedClient) -> ClientResult:
    """Train one client in the calling thread."""
    with torch.no_grad(), dropout(task, client):
        return local_round(task, start, client.turns, client.batches, start.global_model.buffers)


def _dependence(task: LocalTask) -> str:
    """Why these clients must be trained one after the other; empty if they need not."""
    if task.net.has_dropout:
        return "dropout draws from one generator, which all threads would share"
    reasons = (f"{type(part).__name__} {part.sequential}" for part in task.parts if part.sequential)
    return next(reasons, "")
