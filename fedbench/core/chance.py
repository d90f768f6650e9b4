"""PyTorch's random generators, each seeded by (seed, round, client, purpose)."""

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from fedbench.base.seeds import number


def torch_generator(seed: int, round_: int, client: int, purpose: str) -> torch.Generator:
    """A new generator on the CPU, so that all devices draw the same numbers."""
    return torch.Generator().manual_seed(number(seed, round_, client, purpose))


@contextlib.contextmanager
def seeded(number_: int, device: torch.device) -> Iterator[None]:
    """A context in which torch's shared generators start from the seed `number_`.

    Dropout draws from these generators. Afterwards they go on as if the context had not been there.
    """
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        seed_shared(number_, device)
        yield


def draws(act: Callable[[], object], device: torch.device) -> bool:
    """Whether an act draws from torch's shared generator for this device."""
    with seeded(0, device):
        before = replay(None, device)
        act()
        return not torch.equal(before, replay(None, device))


def seed_shared(number_: int, device: torch.device) -> None:
    """Seed the shared generator that computations on this device draw from, and that of the CPU.

    `torch.manual_seed` would also note, with a whole traceback, that a GPU is to be seeded once it
    is used.
    """
    if device.type == "cuda":
        torch.cuda.manual_seed_all(number_)
    torch.default_generator.manual_seed(number_)


def replay(state: Tensor | None, device: torch.device) -> Tensor:
    """Set torch's shared generator to `state`, and return that state.

    If `state` is None, the generator is left alone and its present state is returned.
    """
    cuda = device.type == "cuda"
    if state is None:
        return torch.cuda.get_rng_state(device) if cuda else torch.get_rng_state()
    if cuda:
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
    return state
