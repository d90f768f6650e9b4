"""Every random draw is a function of (seed, round, client, purpose) alone (convention 12)."""

import hashlib

import numpy as np

EVERYONE = -1  # the client number of draws that the server makes
ALWAYS = -1  # the round number of draws made once per run


def number(seed: int, round_: int, client: int, purpose: str) -> int:
    """A 63-bit seed; distinct inputs give unrelated numbers."""
    text = f"{seed}/{round_}/{client}/{purpose}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def numpy_generator(seed: int, round_: int, client: int, purpose: str) -> np.random.Generator:
    """A fresh NumPy generator."""
    return np.random.default_rng(number(seed, round_, client, purpose))
