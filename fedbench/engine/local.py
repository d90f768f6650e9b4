"""What local training needs, what it starts from, and what it returns; threads that share it."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor

from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.optimisers import Optimiser
from fedbench.core.part import Part, overriding
from fedbench.core.rng import seeded
from fedbench.core.round import State, Turn
from fedbench.engine import inputs

Loss = Callable[[Tensor, Tensor], Tensor]  # (logits (B, C), labels (B,)) -> one per sample (B,)
A = TypeVar("A")
B = TypeVar("B")
_OF_STEPS = ("logits", "loss", "grad", "decay", "move", "after")  # hooks


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    # One for all runs of a process. MKL takes a lock when a thread ends, and a worker process that
    # is forked just then waits for it for ever.
    return ThreadPoolExecutor(count)


os.register_at_fork(after_in_child=_pool.cache_clear)


class Threads:
    """`count` threads, each of which takes the next item as soon as it is done with one."""

    def __init__(self, count: int) -> None:
        self.count = count

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """The function of each item, in the items' order; raises what a thread raised."""
        with one_thread_per_operation():
            if self.count == 1:
                return [function(item) for item in items]
            return list(_pool(self.count).map(function, items))


@contextmanager
def one_thread_per_operation() -> Iterator[None]:
    """With more threads inside an operation, the order of a sum and so its bits could differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class UsersCode:
    """Whether users' own code acts in a run; and, from when it does, draws in clients' turns."""

    acts: bool = False
    draws: bool = False


@dataclass(frozen=True)
class RoundStart:
    """What all clients of a round start from: the global model x_t and the learning rate η_t."""

    global_model: Model
    lr: float


@dataclass(frozen=True)
class PreparedClient:
    """One client, ready to train, with a turn per part."""

    client: int
    turns: list[Turn]
    rows: list[Tensor]  # the samples of each local step's batch
    views: list[Tensor] | None  # how each of them is cropped and flipped; None: not at all
    noise: int  # the seed of its dropout


@dataclass(frozen=True)
class ClientResult:
    """What one client's local training returns; its model y_i is (w, buffers)."""

    w: Tensor
    changed: Tensor | None  # the update (d,) that is uploaded; None: x_t − y_i, without any `end`
    upload: list[State]  # by part, beside the update
    state: list[State]  # by part, stored at the client
    buffers: Buffers
    loss: Tensor  # the mean over its steps of a batch's loss before the step, without parts' terms

    def delta(self, x: Tensor) -> Tensor:
        """The update (d,) that is uploaded, where x (d,) is the global model of the round."""
        return x - self.w if self.changed is None else self.changed


@dataclass(frozen=True, kw_only=True)
class LocalTask:
    """What local training needs and what stays the same in all rounds."""

    net: Net
    parts: tuple[Part, ...]
    loss: Loss
    optimiser: Optimiser
    clip: float | None
    x: Tensor  # all training samples, as stored
    y: Tensor
    prepare: Callable[[Tensor], Tensor]  # turns stored samples into the network's input
    decays: Tensor | None  # (d,), 0 where weight decay does not act; None: it acts everywhere
    crop: int  # the padding of augmented images, in pixels
    threads: Threads  # share training and evaluation
    users: UsersCode

    @property
    def draws(self) -> bool:
        """Whether a client's turn draws from generators that all threads share."""
        return self.net.has_dropout or self.users.draws

    def dropout(self, c: PreparedClient) -> AbstractContextManager[None]:
        """A context in which dropout, and users' code that draws, draw from the client's seed."""
        return seeded(c.noise, self.x.device, self.users.acts) if self.draws else nullcontext()

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the optimiser acts on steps, and it acts on all weights alike."""
        seen = any(overriding(self.parts, hook) for hook in _OF_STEPS)
        return not seen and self.clip is None and self.decays is None

    def inputs(self, rows: Tensor, view: Tensor | None) -> tuple[Tensor, Tensor]:
        """The network's inputs and the labels of these samples, cropped and flipped by `view`."""
        x = self.x.index_select(0, rows)  # a tenth of the time of x[rows], which reads each image
        if view is not None:
            x = inputs.augmented(x, view, self.crop)
        return self.prepare(x), self.y.index_select(0, rows)

    def outputs(self, model: Model, x: Tensor, piece: int = 500) -> tuple[Tensor, Tensor]:
        """(logits, features) of stored samples x (N, …) in evaluation mode, `piece` at a time."""

        def evaluate(part: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():  # of this thread
                return self.net.eval(model, self.prepare(part))

        logits, features = zip(*self.threads.map(evaluate, torch.split(x, piece)), strict=True)
        return torch.cat(logits), torch.cat(features)
