"""Trains the clients of a cohort, side by side and in parallel; the workers change no result."""

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedbench.core.part import unwritten
from fedbench.core.rng import GeneratorStates
from fedbench.core.stacked_network import StackedNet
from fedbench.engine.batched_clients import has_bits_of_one, train_in_step, train_together
from fedbench.engine.local_round import local_round
from fedbench.engine.machine import in_threads
from fedbench.engine.problem import LOSSES, ClientResult, LocalTask, PreparedClient
from fedbench.engine.rounds import snapshot
from fedbench.engine.worker_processes import Processes

# Floating-point operations of one step's forward pass that keep a core, or a GPU, busy: several
# clients at once are no faster beyond that.
_ENOUGH_CPU, _ENOUGH_GPU = 4e8, 2e10
# Weights times samples up to which a step of a network without a convolution takes longer to call
# than to compute, so that filling up short batches costs nothing.
_TINY = 3.5e5
# Weights beyond which those of several clients leave the cache.
_CACHED = 2.5e5
_MOST_IN_STEP = 16
# Weights times samples up to which threads wait for Python's lock longer than they compute.
_SMALL = 2e7


class Workers:
    """Threads or processes that each train one group of clients at a time, until all are done.

    `batch`: the largest number of samples per step; `cohort`: the clients of a round.
    """

    def __init__(self, task: LocalTask, batch: int, cohort: int) -> None:
        self._task = task
        stacked = None if self.one_because else stacked_net(task, batch)
        self._largest = at_once(task, batch, cohort) if stacked else 1
        together: Callable[..., list[ClientResult]] = train_together
        self._whole = False  # whether clients in step keep the bits of one
        if in_step(task, batch) and tiny(task, batch):
            together = train_in_step
        elif in_step(task, batch) and stacked and self._largest > 1:
            together = partial(train_in_step, size=batch)
            clients = {1, 2, self._largest}
            self._whole = all(has_bits_of_one(task, stacked, batch, m) for m in clients)
            self._largest = self._largest if self._whole else 1

        def train(group: Sequence[PreparedClient]) -> list[ClientResult]:
            if stacked is None or len(group) == 1:
                return [local_round(task, client) for client in group]
            return together(task, stacked, group)

        self._train = train  # not a method, in which the processes would keep `self` alive
        # Processes where threads are too slow, but not where users' code acts, which may keep
        # something from one call to the next, nor where this process may not have or fork any:
        # PyTorch then refuses gradients in a fork of a process that sees a GPU and has made one
        small = task.net.d * max(batch, 10) <= _SMALL and not task.net.channels
        here = sys.platform == "linux" and not torch.cuda.is_available()
        here = here and not multiprocessing.current_process().daemon
        apart = here and small and self._threads > 1 and not (task.draws or task.users.acts)
        self._processes = Processes(self._train, task.threads) if apart else None

    @property
    def one_because(self) -> str:
        """Why clients must be trained one after the other, in rounds from now on; else empty."""
        task = self._task
        if task.draws:
            what = "dropout" if task.net.has_dropout else "a part, or the model or loss,"
            return f"{what} draws from one generator, which all threads would share"
        own = (f"{type(part).__name__} {part.sequential}" for part in task.parts if part.sequential)
        return next(own, "")

    @property
    def _threads(self) -> int:
        return 1 if self.one_because else self._task.threads

    @property
    def described(self) -> dict[str, Any]:
        """Their number, and why there is one, for the record of a run."""
        if because := self.one_because:
            return {"workers": 1, "clients_at_once": 1, "one_worker_because": because}
        return {"workers": self._threads, "clients_at_once": self._largest}

    def train(self, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        """The clients' results, in order; made again, with seeds, if users' code has drawn."""
        users, device = self._task.users, self._task.x.device
        if users.draws or not users.acts:
            return self._train_all(clients)
        again, before = snapshot(self._task, clients), GeneratorStates.now(device)
        results = self._train_all(clients)
        if GeneratorStates.now(device) == before:
            return results
        before.restore(device)
        users.draws = True
        for client, fresh in zip(clients, again, strict=True):
            client.turns[:] = fresh.turns
        return self._train_all(clients)

    def _train_all(self, clients: Sequence[PreparedClient]) -> list[ClientResult]:
        if self.one_because:
            places = [[i] for i in range(len(clients))]
        else:  # those with most steps first, so that none is left at the end
            steps = [len(client.rows) for client in clients]
            places = grouped(steps, self._largest)
            if self._whole:
                places = dealt(steps, self._largest, self._threads)
        groups = [[clients[i] for i in group] for group in places]
        sent = (x for client in clients for t in client.turns for x in t.msg.values())
        with unwritten(self._task.parts, "a message", sent):
            if self._processes and len(groups) > 1:
                trained = self._processes.map(groups)
            else:
                trained = in_threads(self._threads, self._train, groups)
        results = dict(zip(chain(*places), chain(*trained), strict=True))
        return [results[i] for i in range(len(clients))]


def tiny(task: LocalTask, batch: int) -> bool:
    """Whether a step takes longer to call than to compute."""
    return task.net.d * max(batch, 10) <= _TINY


def in_step(task: LocalTask, batch: int) -> bool:
    """Whether clients train in step: those of a small network, whose steps no part sees."""
    net = task.net
    small = net.d <= _CACHED and net.d * batch <= _SMALL
    plain = task.is_plain and task.loss in LOSSES and net.precision != torch.bfloat16
    return small and plain and not (net.channels or net.start().buffers)


def stacked_net(task: LocalTask, batch: int) -> StackedNet | None:
    """The network for several clients at once, or None where each client trains alone.

    Larger networks without a convolution gain nothing, those with one are slower in float64.
    """
    net = task.net
    gains = in_step(task, batch) or (net.channels and net.precision == torch.float32)
    if gains and not net.has_dropout:  # which would draw other numbers
        with suppress(TypeError, RuntimeError, IndexError):  # no stacked form; or sizes do not fit
            stacked = StackedNet(net)
            stacked.call("eval", [net.start()] * 2, [task.prepare(task.x[:1])] * 2)
            return stacked
    return None


def at_once(task: LocalTask, batch: int, cohort: int) -> int:
    """How many clients with batches of this size make up a step that keeps a core or GPU busy.

    That follows from a sample's operations in layers with products. PyTorch's own counter finds the
    same number, but it imports PyTorch's compiler, which takes seconds.
    """
    if in_step(task, batch):  # two workers share any cohort of tiny networks, all of them others
        shares = 2 if tiny(task, batch) else task.threads
        return min(_MOST_IN_STEP, -(-cohort // shares))
    counts: list[int] = []

    def count(layer: Any, _: object, outputs: Tensor) -> None:
        # an output is the sum of one product per weight of its filter or row
        counts.append(2 * outputs.numel() * layer.weight[0].numel())

    module = task.net.module().eval()
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    with torch.no_grad():
        module(task.prepare(task.x[:1]))
    enough = _ENOUGH_CPU if task.x.device.type == "cpu" else _ENOUGH_GPU
    return max(1, int(enough / (max(1, sum(counts)) * batch)))


def grouped(steps: Sequence[int], largest: int) -> list[list[int]]:
    """Places in the cohort in groups of at most `largest`, those with most local steps first.

    Sizes differ by one at most. Two groups or more are an even number, which two workers share.
    """
    clients = len(steps)
    order = sorted(range(clients), key=lambda i: -steps[i])
    count = 1 if largest >= clients else min(clients, 2 * -(-clients // (2 * largest)))
    return [group.tolist() for group in np.array_split(order, count)]


def dealt(steps: Sequence[int], largest: int, workers: int) -> list[list[int]]:
    """As `grouped`, in as many groups for each worker, which share the steps as cards are dealt."""
    order = sorted(range(len(steps)), key=lambda i: -steps[i])
    count = workers * -(-len(steps) // (workers * largest))
    return [order[i::count] for i in range(min(count, len(steps)))]
