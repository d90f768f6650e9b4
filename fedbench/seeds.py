"""Every random draw is a function of (seed, round, client, purpose) and of nothing else.

No generator lives longer than one draw site, so the same spec gives the same result whatever the
worker count, the order of clients, the batch of runs, or a crash in between (design convention 12).
"""

import contextlib
import hashlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

EVERYONE = -1  # the client number of draws that belong to the server
ALWAYS = -1  # the round number of draws made once a run


def number(seed: int, round_: int, client: int, purpose: str) -> int:
    """A 63-bit seed; distinct inputs give unrelated numbers."""
    text = f"{seed}/{round_}/{client}/{purpose}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def torch_generator(seed: int, round_: int, client: int, purpose: str) -> torch.Generator:
    """A fresh CPU generator: draws are made on the CPU so that devices agree."""
    return torch.Generator().manual_seed(number(seed, round_, client, purpose))


@contextlib.contextmanager
def lent(number_: int, device: torch.device) -> Iterator[None]:
    """Seed torch's shared generators for a while: dropout can draw from no other."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(number_)
        yield


def replay(state: Tensor | None, device: torch.device) -> Tensor:
    """Take torch's shared generator back to `state`; without one, the state to go back to."""
    cuda = device.type == "cuda"
    if state is None:
        return torch.cuda.get_rng_state(device) if cuda else torch.get_rng_state()
    if cuda:
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
    return state


def numpy_generator(seed: int, round_: int, client: int, purpose: str) -> np.random.Generator:
    """A fresh NumPy generator."""
    return np.random.default_rng(number(seed, round_, client, purpose))
