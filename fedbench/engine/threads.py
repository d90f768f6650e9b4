"""Threads that share work between the cores; their number changes no bit of a result."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

A = TypeVar("A")
B = TypeVar("B")


class Threads:
    """`count` threads, each of which takes the next item as soon as it is done with one."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """The function of each item, in the items' order; raises what a thread raised."""
        with one_thread_per_operation():
            if self.count == 1:
                return [function(item) for item in items]
            return list(self._pool.map(function, items))


@contextlib.contextmanager
def one_thread_per_operation() -> Iterator[None]:
    """With more threads inside an operation, the order of a sum and so its bits could differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
