"""The state of an unfinished run, and its checkpoints, which are read back without running code."""

import math
import time
import warnings
from collections import UserDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from fedbench.base import signals
from fedbench.base.errors import FedbenchError, failing, short
from fedbench.base.files import atomic, exists
from fedbench.core.flat_network import Model
from fedbench.core.round_data import State
from fedbench.core.tensors_on_disk import Spill
from fedbench.engine.probe import Cells
from fedbench.engine.problem import Problem
from fedbench.store import CHECKPOINT, RunFolder

Row = dict[str, float]
_PHASES = ("train", "server", "evaluate", "watch")
_AGAIN = "start it again in the same way to go on"


def floats(states: Iterable[State]) -> int:
    """How many numbers the tensors of these states have."""
    return sum(value.numel() for state in states for value in state.values())


class ClientStates(UserDict[int, Any]):
    """What each part stores for each client; when it first takes part, memory or disk is chosen."""

    def __init__(self, spill: Spill) -> None:
        super().__init__()
        self._spill = spill

    def __getitem__(self, client: int) -> list[State]:
        kept: Any = self.data[client]
        states: list[State] = kept if isinstance(kept, list) else torch.load(kept, mmap=True)
        return states

    def __setitem__(self, client: int, states: list[State]) -> None:
        size = sum(v.numel() * v.element_size() for state in states for v in state.values())
        before = self.data.get(client)
        if isinstance(before, list) or (before is None and self._spill.take(size)):
            self.data[client] = states
        else:
            file = self.data[client] = self._spill.folder / f"client-{client}.pt"
            file.unlink(missing_ok=True)  # those who read the former still map it
            torch.save(states, file)


@dataclass
class Progress:
    """The global model after `round` rounds, the states of server and clients, and the history."""

    global_model: Model
    server: list[State]
    clients: ClientStates
    round: int = 0
    rows: list[Row] = field(default_factory=list)
    # numbers sent to all clients and by them
    traffic: dict[str, int] = field(default_factory=lambda: {"down": 0, "up": 0})
    passes: int = 0  # samples passed forward and backward through the model
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_PHASES, 0.0))
    diverged: bool = False
    best: State = field(default_factory=dict)  # the model that was best on held-out data, and…
    best_score: float = -math.inf  # … its accuracy there, without classes its negative loss
    losses: dict[int, float] = field(default_factory=dict)  # of clients' last turns, if asked for
    users_draw: bool = False  # see `LocalTask.users`
    memory: list[State] = field(default_factory=list)  # the tensors that each probe stores
    tables: list[list[Cells]] = field(default_factory=list)  # the rows that each probe wrote

    def state(self) -> dict[str, Any]:
        """All fields as plain containers and tensors, to be saved in a checkpoint."""
        global_model = self.global_model._asdict()
        return vars(self) | {"global_model": global_model, "clients": dict(self.clients)}

    @classmethod
    def of(cls, state: dict[str, Any], spill: Spill) -> "Progress":
        """The progress that `state` describes, as the method `state` returned it."""
        values = {k: v for k, v in state.items() if k not in ("id", "data", "settings")}
        clients = ClientStates(spill)
        clients.update(values.pop("clients"))
        global_model = Model(**values.pop("global_model"))
        server = [{k: spill.keep(v) for k, v in stored.items()} for stored in values.pop("server")]
        return cls(global_model, server, clients, **values)


class Checkpoints:
    """The checkpoints of one run: saved every few minutes, and when a signal stops the run."""

    def __init__(self, folder: RunFolder | None, problem: Problem, minutes: float) -> None:
        self._file = folder.path / CHECKPOINT if folder else None
        self._problem, self._minutes = problem, minutes
        self._saved = time.monotonic()

    def load(self) -> Progress | None:
        """The progress of a run that was stopped; raises `FedbenchError` if it cannot be used."""
        file, problem = self._file, self._problem
        if file is None or not exists(file):
            return None
        said = f"{file}: damaged checkpoint, or of another version"
        remedy = "delete it to start the run again"
        with failing(said, remedy):  # mapped: the states of all clients may be larger than memory
            state = torch.load(file, map_location=problem.device, weights_only=True, mmap=True)
            self._require_same(file, state)
        with failing(said, remedy, (KeyError, TypeError, AttributeError)):
            progress = Progress.of(state, problem.fed.spill)
            for name in problem.task.net.start().buffers:  # one of another version has other names
                progress.global_model.buffers[name]
        return progress

    def _require_same(self, file: Path, state: Mapping[str, Any]) -> None:
        """Refuse one of another run, other data or settings; early versions name only the run."""
        owner, own = state["id"], self._problem.identity.id
        if owner != own:
            raise FedbenchError(f"{file}: belongs to run {owner}, not to {own}; delete or move it")
        data, checksum = self._problem.data, state.get("data")
        if checksum and checksum != data.checksum:
            raise FedbenchError(
                f"{file}: trained on data set '{data.name}' with checksum {checksum[:12]}, now "
                f"{data.checksum[:12]}; restore the former data, or delete the folder {file.parent}"
            )
        now = self._problem.spec.settings()
        before = state.get("settings") or now
        for key in before | now:
            if before.get(key) != now.get(key):
                raise FedbenchError(
                    f"{file}: trained with {key} = {before.get(key)}, but its search now chooses "
                    f"{now.get(key)}; delete the folder {file.parent} to train the run anew"
                )

    def after_round(self, progress: Progress, over: bool) -> None:
        """Save one if it is due; stop if a signal has asked for it, unless the run is over."""
        if (time.monotonic() - self._saved) / 60 >= self._minutes:
            self._try_to_save(progress)
        if signals.requested() and not over:
            where = self._try_to_save(progress)
            key, rounds = self._problem.identity.id, self._problem.spec.rounds
            signals.stop_if_requested(f"after round {progress.round} of {rounds} of {key}; {where}")

    def _try_to_save(self, progress: Progress) -> str:
        """Save a checkpoint; says where. One that cannot be written ends no run."""
        self._saved = time.monotonic()
        if self._file is None:
            return "nothing was saved, as the run has no folder"
        file, problem = self._file, self._problem
        owner = {"id": problem.identity.id, "data": problem.data.checksum}
        state = {**owner, "settings": problem.spec.settings(), **progress.state()}
        try:
            save_checkpoint(file.parent, state)
        except (FedbenchError, OSError, RuntimeError) as error:  # torch's error on a full disk
            said = f"{file}: could not be saved ({short(error)})"
            warnings.warn(f"{said}; the run goes on, and the next is tried later", stacklevel=2)
            before = "from the one before" if exists(file) else "from the first round"
            return f"{said}; {_AGAIN} {before}"
        return f"saved in {file}; {_AGAIN}"


def save_checkpoint(folder: Path, state: Mapping[str, Any]) -> None:
    """Replace a run folder's checkpoint; after a crash the former one is still there."""
    with atomic(folder / CHECKPOINT) as temporary:
        torch.save(dict(state), temporary)
