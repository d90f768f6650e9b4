"""Checkpoints of unfinished runs: written, and read back without running any code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fedbench.base.errors import FedbenchError
from fedbench.base.files import atomic, exists
from fedbench.store import CHECKPOINT


def save_checkpoint(folder: Path, state: Mapping[str, Any]) -> None:
    """Replace a run folder's checkpoint; after a crash the former one is still there."""
    with atomic(folder / CHECKPOINT) as temporary:
        torch.save(dict(state), temporary)


def load_checkpoint(folder: Path, run_id: str, device: torch.device) -> dict[str, Any] | None:
    """The run's checkpoint, or None; raises `FedbenchError` if it cannot be used."""
    file = folder / CHECKPOINT
    if not exists(file):
        return None
    try:
        state: dict[str, Any] = torch.load(
            file, map_location=device, weights_only=True, mmap=True
        )  # mapped: the states of all clients may be larger than memory
        owner = state["id"]
    except Exception as error:  # torch's unpickler may raise anything
        raise FedbenchError(
            f"{file}: damaged checkpoint ({type(error).__name__}); delete it to start the run again"
        ) from None
    if owner != run_id:
        raise FedbenchError(
            f"{file}: belongs to run {owner}, not to {run_id}; delete it or move it"
        )
    return state
