"""Trains the clients of a cohort in parallel threads; the number of threads changes no result."""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

import torch

from fedbench.engine.gang import train_together
from fedbench.engine.groups import at_once, grouped, stacked_net
from fedbench.engine.local import ClientResult, LocalTask, RoundStart, local_round
from fedbench.engine.turns import PreparedClient, dropout


class Workers:
    """Threads that each train one group of clients at a time, until the cohort is done.

    `count` threads; `batch`: the largest number of samples per step. Where clients depend on each
    other there is one thread, and `alone_because` says why.
    """

    def __init__(self, task: LocalTask, count: int, batch: int) -> None:
        self.alone_because = _dependence(task) if count > 1 else ""
        self._task, self._count = task, 1 if self.alone_because else count
        self._threads = ThreadPoolExecutor(self._count)
        self._stacked = None if _dependence(task) else stacked_net(task)
        self._largest = at_once(task, batch) if self._stacked else 1

    @property
    def described(self) -> dict[str, Any]:
        """Their number, and why there is one, for the record of a run."""
        reason = {"one_worker_because": self.alone_because} if self.alone_because else {}
        return {"workers": self._count, "clients_at_once": self._largest, **reason}

    def train(self, start: RoundStart, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        """The clients' results, in the clients' order.

        With several threads the clients with most steps begin first, so that none is left at the
        end; those that depend on each other are trained in their order.
        """
        with _one_thread_per_operation():
            if _dependence(self._task):
                return [train_alone(self._task, start, client) for client in clients]
            return self._train_groups(start, clients)

    def _train_groups(
        self, start: RoundStart, clients: Sequence[PreparedClient]
    ) -> list[ClientResult]:
        waiting: SimpleQueue[list[int]] = SimpleQueue()
        for group in grouped([len(client.batches.rows) for client in clients], self._largest):
            waiting.put(group)
        results: dict[int, ClientResult] = {}

        def work(_: int) -> None:
            with contextlib.suppress(Empty):
                while True:
                    group = waiting.get_nowait()
                    found = self._train(start, [clients[i] for i in group])
                    results.update(zip(group, found, strict=True))

        list(self._threads.map(work, range(self._count)))  # raises what a thread raised
        return [results[i] for i in range(len(clients))]

    def _train(self, start: RoundStart, group: Sequence[PreparedClient]) -> list[ClientResult]:
        if self._stacked is None or len(group) == 1:
            return [train_alone(self._task, start, client) for client in group]
        return train_together(self._task, self._stacked, start, group)


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


@contextlib.contextmanager
def _one_thread_per_operation() -> Iterator[None]:
    """With more threads inside an operation, the order of a sum and so its bits could differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
