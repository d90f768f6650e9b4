"""Random generators, each seeded by (seed, round, client, purpose)."""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from fedbench.base.seeds import ALWAYS, EVERYONE, number

CPU = torch.device("cpu")


class GeneratorStates(NamedTuple):
    """The states of the generators that all code of a process shares, to compare or to restore."""

    cpu: bytes
    cuda: bytes = b""
    numpy: tuple[Any, ...] = ()
    python: tuple[Any, ...] = ()

    @classmethod
    def now(cls, device: torch.device, users: bool = True) -> "GeneratorStates":
        """The states of torch's; with `users` NumPy's and Python's too, which take 0.1 ms."""
        cpu = torch.get_rng_state().numpy().tobytes()
        cuda = torch.cuda.get_rng_state(device).numpy().tobytes() if device.type == "cuda" else b""
        if not users:
            return cls(cpu, cuda)
        name, words, *rest = cast("tuple[Any, ...]", np.random.get_state(legacy=True))  # noqa: NPY002
        return cls(cpu, cuda, (name, words.tobytes(), *rest), random.getstate())

    def restore(self, device: torch.device) -> None:
        """Let the generators go on from these states."""
        torch.set_rng_state(torch.frombuffer(bytearray(self.cpu), dtype=torch.uint8))
        if self.cuda:
            state = torch.frombuffer(bytearray(self.cuda), dtype=torch.uint8)
            torch.cuda.set_rng_state(state, device)
        if self.numpy:
            name, words, *rest = self.numpy
            np.random.set_state((name, np.frombuffer(words, np.uint32), *rest))  # noqa: NPY002
            random.setstate(self.python)


def torch_generator(seed: int, round_: int, client: int, purpose: str) -> torch.Generator:
    """A new generator on the CPU, so that all devices draw the same numbers."""
    return torch.Generator().manual_seed(number(seed, round_, client, purpose))


@contextlib.contextmanager
def seeded(number_: int, device: torch.device, users: bool = False) -> Iterator[None]:
    """A context in which torch's shared generators, as of dropout, start from the seed `number_`.

    `users`: NumPy's and Python's do too. Afterwards they go on as if it had not been there.
    """
    before = GeneratorStates.now(device, users)
    try:
        if device.type == "cuda":
            torch.cuda.manual_seed_all(number_)
        # not by `torch.manual_seed`, which notes, with a traceback, that a GPU is to be seeded too
        torch.default_generator.manual_seed(number_)
        if users:
            np.random.seed(number_ % 2**32)  # noqa: NPY002
            random.seed(number_)
        yield
    finally:
        before.restore(device)


def seeded_for(
    seed: int, purpose: str, round_: int = ALWAYS, device: torch.device = CPU
) -> contextlib.AbstractContextManager[None]:
    """A context in which what code draws, users' too, follows from (seed, round, purpose) alone."""
    return seeded(number(seed, round_, EVERYONE, purpose), device, users=True)


@contextlib.contextmanager
def noticing(device: torch.device) -> Iterator[Callable[[], bool]]:
    """Gives a function: whether the shared generators, seeded with 0 here, were drawn from."""
    with seeded(0, device, users=True):
        before = GeneratorStates.now(device)
        yield lambda: GeneratorStates.now(device) != before
