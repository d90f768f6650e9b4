"""Whether a model fits this machine, known before its first weight is allocated."""

import os
import warnings

import torch

from fedbench.base.errors import FedbenchError, short
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture

_COPIES = 4  # the global model, a client's, its gradient and its update
_BYTES = 4  # of a float32


def require_room(name: str, architecture: Architecture, inputs: Inputs) -> None:
    """Raise `FedbenchError` if the model cannot be built, or not be trained in this memory."""
    try:
        size = _parameters(architecture, inputs)
    except (RuntimeError, OverflowError, TypeError) as error:  # sizes beyond torch's integers
        raise FedbenchError(f"model = {name} cannot be built ({short(error)})") from error
    needed, there = size * _COPIES * _BYTES, _memory()
    if needed > there:
        raise FedbenchError(
            f"model = {name} has {size:,} parameters; to train it takes {needed / 1e9:,.0f} GB for "
            f"{_COPIES} copies, and this machine has {there / 1e9:,.0f} GB; make it smaller"
        )


def _parameters(architecture: Architecture, inputs: Inputs) -> int:
    """How many, counted on a module without storage."""
    with torch.device("meta"), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weights read from a file have no place to go
        module = architecture.build(inputs)
    return sum(value.numel() for value in module.parameters())


def _memory() -> int:
    """Bytes of main memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
