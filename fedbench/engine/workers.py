"""Trains the clients of a cohort in parallel; the number of workers changes no result."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import Any

import torch

from fedbench.core.rng import GeneratorStates
from fedbench.core.stacked import StackedNet
from fedbench.engine.batched_clients import train_together
from fedbench.engine.groups import at_once, grouped, in_processes, in_step, stacked_net
from fedbench.engine.local import ClientResult, LocalTask, RoundStart
from fedbench.engine.local_round import local_round
from fedbench.engine.lockstep import train_in_step
from fedbench.engine.processes import Processes
from fedbench.engine.threads import Threads, one_thread_per_operation
from fedbench.engine.turns import PreparedClient, dropout, snapshot


class Workers:
    """Threads or processes that each train one group of clients at a time, until all are done.

    `batch`: the largest number of samples per step; `cohort`: the clients of a round. Where clients
    depend on each other they are trained one after the other, and `one_because` says why. So are
    they from the round on in which code of users draws from generators that all threads share.
    """

    def __init__(self, task: LocalTask, threads: Threads, batch: int, cohort: int) -> None:
        self._task, self._several = task, threads
        stacked = None if self.one_because else stacked_net(task, batch)
        self._largest = at_once(task, batch, cohort) if stacked else 1
        together = train_in_step if in_step(task, batch) else train_together
        self._train = partial(_train_group, task, stacked, together)
        apart = self._threads.count > 1 and in_processes(task, batch)
        self._processes = Processes(self._train, threads.count) if apart else None

    @property
    def one_because(self) -> str:
        """Why these clients must be trained one after the other; empty if they need not."""
        task = self._task
        if task.draws:
            what = "dropout" if task.net.has_dropout else "a part, or the model or loss,"
            return f"{what} draws from one generator, which all threads would share"
        own = (f"{type(part).__name__} {part.sequential}" for part in task.parts if part.sequential)
        return next(own, "")

    @property
    def _threads(self) -> Threads:
        return Threads(1) if self.one_because else self._several

    def round(self) -> AbstractContextManager[None]:
        """A context for a round, in which PyTorch's own threads take no core from processes."""
        return one_thread_per_operation() if self._processes else nullcontext()

    @property
    def described(self) -> dict[str, Any]:
        """Their number, and why there is one, for the record of a run."""
        because = self.one_because
        reason = {"one_worker_because": because} if because else {}
        at_once = 1 if because else self._largest
        return {"workers": self._threads.count, "clients_at_once": at_once, **reason}

    def train(self, start: RoundStart, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        """The clients' results, in the clients' order.

        If users' code turns out to draw, the round is trained again with each client's own seed.
        """
        users, device = self._task.users, self._task.x.device
        if users.draws or not users.acts:
            return self._train_all(start, clients)
        again, before = snapshot(clients), GeneratorStates.now(device)
        results = self._train_all(start, clients)
        if GeneratorStates.now(device) == before:
            return results
        before.restore(device)
        users.draws = True
        for client, fresh in zip(clients, again, strict=True):
            client.turns[:] = fresh.turns
        return self._train_all(start, clients)

    def _train_all(
        self, start: RoundStart, clients: Sequence[PreparedClient]
    ) -> list[ClientResult]:
        if self.one_because:
            places = [[i] for i in range(len(clients))]
        else:  # those with most steps first, so that none is left at the end
            places = grouped([len(client.batches.rows) for client in clients], self._largest)
        groups = [[clients[i] for i in group] for group in places]
        if self._processes and len(groups) > 1:
            trained = self._processes.map(start, groups)
        else:
            trained = self._threads.map(lambda group: self._train(start, group), groups)
        results = dict(zip(chain(*places), chain(*trained), strict=True))
        return [results[i] for i in range(len(clients))]


def _train_group(
    task: LocalTask,
    stacked: StackedNet | None,
    together: Callable[..., list[ClientResult]],
    start: RoundStart,
    group: Sequence[PreparedClient],
) -> list[ClientResult]:
    if stacked is None or len(group) == 1:
        return [train_alone(task, start, client) for client in group]
    return together(task, stacked, start, group)


def train_alone(task: LocalTask, start: RoundStart, client: PreparedClient) -> ClientResult:
    """Train one client in the calling thread."""
    with torch.no_grad(), dropout(task, client):
        return local_round(task, start, client.turns, client.batches, start.global_model.buffers)
