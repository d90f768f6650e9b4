"""Checkpoints of unfinished runs: written, and read back without running any code."""

import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fedbench.base import signals
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import atomic, exists
from fedbench.engine.problem import Problem
from fedbench.engine.progress import Progress
from fedbench.store import CHECKPOINT, RunFolder

_AGAIN = "start it again in the same way to go on"


class Checkpoints:
    """The checkpoints of one run: saved every few minutes, and when a signal stops the run.

    Without a folder nothing is saved, and a run that is stopped is lost.
    """

    def __init__(self, folder: RunFolder | None, problem: Problem, minutes: float) -> None:
        self._folder, self._problem, self._minutes = folder, problem, minutes
        self._saved = time.monotonic()

    def load(self) -> Progress | None:
        """The progress of a run that was stopped; raises `FedbenchError` if it cannot be used."""
        if self._folder is None:
            return None
        problem = self._problem
        state = load_checkpoint(self._folder.path, problem.identity.id, problem.device)
        if state:
            self._require_same_data(self._folder.path, state.get("data"))
            self._require_same_settings(self._folder.path, state.get("settings"))
        try:
            return Progress.of(state, problem.fed.spill) if state else None
        except (KeyError, TypeError, AttributeError):
            raise FedbenchError(
                f"{self._folder.path / CHECKPOINT}: damaged checkpoint, or of "
                "another version; delete it to start the run again"
            ) from None

    def after_round(self, progress: Progress, over: bool) -> None:
        """Save one if it is due; stop if a signal has asked for it, unless the run is over."""
        if (time.monotonic() - self._saved) / 60 >= self._minutes:
            self._try_to_save(progress)
        if signals.requested() and not over:
            where = self._try_to_save(progress)
            run_id, rounds = self._problem.identity.id, self._problem.spec.rounds
            signals.stop_if_requested(
                f"after round {progress.round} of {rounds} of {run_id}; {where}"
            )

    def _try_to_save(self, progress: Progress) -> str:
        """Save a checkpoint; says where. One that cannot be written ends no run."""
        self._saved = time.monotonic()
        if self._folder is None:
            return "nothing was saved, as the run has no folder"
        file, problem = self._folder.path / CHECKPOINT, self._problem
        owner = {"id": problem.identity.id, "data": problem.data.checksum}
        state = {**owner, "settings": problem.spec.settings(), **progress.state()}
        try:
            save_checkpoint(self._folder.path, state)
        except (FedbenchError, OSError, RuntimeError) as error:  # torch's error on a full disk
            said = f"{file}: could not be saved ({short(error)})"
            warnings.warn(f"{said}; the run goes on, and the next is tried later", stacklevel=2)
            before = "from the one before" if exists(file) else "from the first round"
            return f"{said}; {_AGAIN} {before}"
        return f"saved in {file}; {_AGAIN}"

    def _require_same_data(self, folder: Path, before: str | None) -> None:
        """Refuse a checkpoint of other data; those of earlier versions name no data."""
        data = self._problem.data
        if before and before != data.checksum:
            raise FedbenchError(
                f"{folder / CHECKPOINT}: the run was trained on data set '{data.name}' "
                f"with checksum {before[:12]}, but the data now have {data.checksum[:12]}; restore "
                f"the former data, or delete the folder {folder} to train on the new data"
            )

    def _require_same_settings(self, folder: Path, before: dict[str, Any] | None) -> None:
        """Refuse what another choice of the run's search trained; earlier versions name none."""
        now = self._problem.spec.settings()
        for key in (before or {}) | now:
            if before and before.get(key) != now.get(key):
                raise FedbenchError(
                    f"{folder / CHECKPOINT}: the run was trained with {key} = {before.get(key)}, "
                    f"but its search now chooses {now.get(key)}; delete the folder {folder} to "
                    "train the run from its first round"
                )


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
