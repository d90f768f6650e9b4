"""How far a run has come: everything that a checkpoint holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from fedbench.core.flat import Buffers, Model
from fedbench.core.round import State
from fedbench.core.spill import Spill
from fedbench.engine.probe import Cells


@dataclass
class Traffic:
    """Numbers sent to clients (down) and by clients (up) since the run began, over all clients."""

    down: int = 0
    up: int = 0

    def broadcast(self, model: int, messages: Sequence[State], clients: int) -> None:
        """Count the global model and every part's message, sent to this many clients."""
        self.down += clients * (model + floats(messages))

    def collect(self, model: int, extras: Sequence[State]) -> None:
        """Count one client's model and what every part uploads beside it."""
        self.up += model + floats(extras)


def floats(states: Sequence[State]) -> int:
    """How many numbers the tensors of some states hold."""
    return sum(value.numel() for state in states for value in state.values())


def model_floats(d: int, buffers: Buffers) -> int:
    """How many floats a model has: weights and running statistics, without counters."""
    return d + sum(v.numel() for v in buffers.values() if v.is_floating_point())


Kept = list[State]


class ClientStates(Mapping[int, Kept]):
    """Each client's states by its number, in memory or on disk.

    Where a client's states lie is decided when it first takes part: for a model of 11 million
    weights, 100 clients take 4.5 GB per vector that is stored.
    """

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._memory: dict[int, Kept] = {}
        self._files: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({*self._memory, *self._files}))

    def __len__(self) -> int:
        return len(self._memory) + len(self._files)

    def __getitem__(self, client: int) -> Kept:
        if client in self._memory:
            return self._memory[client]
        if client not in self._files:
            raise KeyError(client)
        found: Kept = torch.load(self._path(client), weights_only=True, mmap=True)
        return [{name: value.clone() for name, value in state.items()} for state in found]

    def __setitem__(self, client: int, kept: Kept) -> None:
        size = sum(v.numel() * v.element_size() for state in kept for v in state.values())
        if client in self._memory or (client not in self._files and self._spill.take(size)):
            self._memory[client] = kept
            return
        self._files.add(client)
        torch.save(kept, self._path(client))

    def state(self) -> dict[int, Kept]:
        """All states, for a checkpoint."""
        return dict(self)

    def restore(self, states: dict[int, Any]) -> None:
        """Take over a checkpoint's states."""
        for client, kept in states.items():
            self[client] = kept

    def _path(self, client: int) -> str:
        return str(self._spill.folder / f"client-{client}.pt")


Row = dict[str, float]


def _no_seconds() -> dict[str, float]:
    return {"train": 0.0, "server": 0.0, "evaluate": 0.0, "watch": 0.0}


@dataclass
class Progress:
    """The global model after `round` rounds, the states of server and clients, and the history."""

    global_model: Model
    server: list[State]
    clients: ClientStates
    round: int = 0
    rows: list[Row] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)
    passes: int = 0  # samples that went through a forward and backward pass
    seconds: dict[str, float] = field(default_factory=_no_seconds)
    diverged: bool = False
    memory: list[State] = field(default_factory=list)  # what each probe stores
    tables: list[list[Cells]] = field(default_factory=list)  # the rows that each probe wrote

    def state(self) -> dict[str, Any]:
        """All of it as plain containers and tensors, to be saved in a checkpoint."""
        return {
            "world": dict(self.global_model._asdict()),
            "server": self.server,
            "clients": self.clients.state(),
            "round": self.round,
            "rows": self.rows,
            "traffic": asdict(self.traffic),
            "passes": self.passes,
            "seconds": self.seconds,
            "diverged": self.diverged,
            "memory": self.memory,
            "tables": self.tables,
        }

    @classmethod
    def of(cls, state: dict[str, Any], spill: Spill) -> "Progress":
        """The progress that `state` described."""
        own = {k: v for k, v in state.items() if k not in ("id", "data")}
        clients = ClientStates(spill)
        clients.restore(own.pop("clients"))
        global_model, traffic = Model(**own.pop("world")), Traffic(**own.pop("traffic"))
        server = [{k: spill.keep(v) for k, v in kept.items()} for kept in own.pop("server")]
        return cls(global_model, server, clients, traffic=traffic, **own)
