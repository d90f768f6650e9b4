"""Trains the clients of a cohort in parallel threads; the number of threads changes no result."""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

import torch

from fedbench.engine.local import ClientResult, LocalTask, RoundStart, local_round
from fedbench.engine.turns import PreparedClient, dropout


class Workers:
    """Threads that each train one client at a time, until the cohort is done.

    Where clients depend on each other there is one thread, and `alone_because` says why.
    """

    def __init__(self, task: LocalTask, count: int) -> None:
        self.alone_because = _dependence(task) if count > 1 else ""
        self._task, self._count = task, 1 if self.alone_because else count
        self._threads = ThreadPoolExecutor(self._count)

    @property
    def described(self) -> dict[str, Any]:
        """Their number, and why there is one, for the record of a run."""
        reason = {"one_worker_because": self.alone_because} if self.alone_because else {}
        return {"workers": self._count, **reason}

    def train(self, start: RoundStart, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        """The clients' results, in the clients' order.

        With several threads the clients with most steps begin first, so that none is left at the
        end; alone they are trained in their order, which chained ones depend on.
        """
        with _one_thread_per_operation():
            if self._count == 1:
                return [train_alone(self._task, start, client) for client in clients]
            return self._train_together(start, clients)

    def _train_together(
        self, start: RoundStart, clients: Sequence[PreparedClient]
    ) -> list[ClientResult]:
        waiting: SimpleQueue[int] = SimpleQueue()
        for i in sorted(range(len(clients)), key=lambda i: -len(clients[i].batches.rows)):
            waiting.put(i)
        results: dict[int, ClientResult] = {}

        def work(_: int) -> None:
            with contextlib.suppress(Empty):
                while True:
                    i = waiting.get_nowait()
                    results[i] = train_alone(self._task, start, clients[i])

        list(self._threads.map(work, range(self._count)))  # raises what a thread raised
        return [results[i] for i in range(len(clients))]


def train_alone(task: LocalTask, start: RoundStart, client: PreparedClient) -> ClientResult:
    """Train one client in the calling thread."""
    with torch.no_grad(), dropout(task, client):
        return local_round(task, start, client.turns, client.batches, start.global_model.buffers)


def _dependence(task: LocalTask) -> str:
    """Why these clients must be trained one after the other; empty if they need not."""
    if task.net.has_dropout:
        return "dropout draws from one generator, which all threads would share"
    reasons = (f"{type(part).__name__} {part.unmappable}" for part in task.parts if part.unmappable)
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
