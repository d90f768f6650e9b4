"""The state of an unfinished run, which checkpoints store."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from fedbench.core.flat import Buffers, Model
from fedbench.core.round import State
from fedbench.core.spill import Spill
from fedbench.engine.local import ClientResult
from fedbench.engine.probe import Cells
from fedbench.engine.turns import PreparedClient
from fedbench.spec.fields import Stop


@dataclass
class Traffic:
    """How many numbers were sent to all clients (down) and by them (up) since the run began."""

    down: int = 0
    up: int = 0

    def broadcast(self, model: int, messages: Sequence[State]) -> None:
        """Count the global model and every part's message, sent to one client."""
        self.down += model + floats(messages)

    def collect(self, model: int, extras: Sequence[State]) -> None:
        """Count one client's model and what every part uploads beside the model."""
        self.up += model + floats(extras)


def floats(states: Sequence[State]) -> int:
    """How many numbers the tensors of these states have."""
    return sum(value.numel() for state in states for value in state.values())


def model_floats(d: int, buffers: Buffers) -> int:
    """How many numbers a model has: weights and running statistics, without counters."""
    return d + sum(v.numel() for v in buffers.values() if v.is_floating_point())


Kept = list[State]  # what the parts store for one client, in the order of the parts


class ClientStates(Mapping[int, Kept]):
    """What the parts store for each client, by the client's number, in memory or on disk.

    Whether a client's states go to memory or disk is decided when it first takes part. With a
    model of 11 million weights, one stored vector per client takes 4.5 GB for 100 clients.
    """

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._memory: dict[int, Kept] = {}
        self._files: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({*self._memory, *self._files}))

    def __len__(self) -> int:
        return len(self._memory) + len(self._files)

    def __contains__(self, client: object) -> bool:  # the inherited one would load its states
        return client in self._memory or client in self._files

    def __getitem__(self, client: int) -> Kept:
        if client in self._memory:
            return self._memory[client]
        return [{k: v.clone() for k, v in state.items()} for state in self._on_disk(client)]

    def __setitem__(self, client: int, states: Kept) -> None:
        size = sum(v.numel() * v.element_size() for state in states for v in state.values())
        if client in self._memory or (client not in self._files and self._spill.take(size)):
            self._memory[client] = states
            return
        self._files.add(client)
        torch.save(states, self._path(client))

    def state(self) -> dict[int, Kept]:
        """The states of all clients, for a checkpoint; those on disk are mapped, not read."""
        return self._memory | {client: self._on_disk(client) for client in sorted(self._files)}

    def restore(self, states: dict[int, Any]) -> None:
        """Use the states of a checkpoint."""
        for client, stored in states.items():
            self[client] = stored

    def _on_disk(self, client: int) -> Kept:
        if client not in self._files:
            raise KeyError(client)
        states: Kept = torch.load(self._path(client), weights_only=True, mmap=True)
        return states

    def _path(self, client: int) -> str:
        return str(self._spill.folder / f"client-{client}.pt")


Row = dict[str, float]
_PHASES = ("train", "server", "evaluate", "watch")


@dataclass
class Progress:
    """The global model after `round` rounds, the states of server and clients, and the history."""

    global_model: Model
    server: list[State]
    clients: ClientStates
    round: int = 0
    rows: list[Row] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)
    passes: int = 0  # samples passed forward and backward through the model
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_PHASES, 0.0))
    diverged: bool = False
    best: State = field(default_factory=dict)  # the model that was best on held-out data, and…
    best_score: float = -math.inf  # … its accuracy there, without classes its negative loss
    losses: dict[int, float] = field(default_factory=dict)  # of clients' last turns, if asked for
    users_draw: bool = False  # see `LocalTask.users`
    memory: list[State] = field(default_factory=list)  # the tensors that each probe stores
    tables: list[list[Cells]] = field(default_factory=list)  # the rows that each probe wrote

    def count(self, c: PreparedClient, reply: ClientResult, size: int, losses: bool) -> None:
        """Take what a client stores and its loss, if needed; count its passes and its traffic.

        size: the numbers of a model; losses: whether the clients upload their losses.
        """
        self.clients[c.client] = reply.state
        self.passes += sum(len(rows) for rows in c.batches.rows)
        self.traffic.broadcast(size, [t.msg for t in c.turns])
        self.traffic.collect(size, reply.upload)
        if losses:
            self.losses[c.client] = float(reply.loss)
            self.traffic.up += 1

    def keep_best(self, scored: Model, row: Row) -> None:
        """Keep the model if none before was as good on held-out data, by the row's scores."""
        if "val_loss" in row:
            score = row.get("val_accuracy", -row["val_loss"])
            if score > self.best_score:
                self.best, self.best_score = {"w": scored.w, **scored.buffers}, score

    def state(self) -> dict[str, Any]:
        """All fields as plain containers and tensors, to be saved in a checkpoint."""
        return vars(self) | {
            "global_model": dict(self.global_model._asdict()),
            "clients": self.clients.state(),
            "traffic": asdict(self.traffic),
        }

    @classmethod
    def of(cls, state: dict[str, Any], spill: Spill) -> "Progress":
        """The progress that `state` describes, as the method `state` returned it."""
        values = {k: v for k, v in state.items() if k not in ("id", "data", "settings")}
        clients = ClientStates(spill)
        clients.restore(values.pop("clients"))
        global_model = Model(**values.pop("global_model"))
        traffic = Traffic(**values.pop("traffic"))
        server = [{k: spill.keep(v) for k, v in stored.items()} for stored in values.pop("server")]
        return cls(global_model, server, clients, traffic=traffic, **values)


def ended(stop: Stop | None, rows: Sequence[Row]) -> bool:
    """Whether the rule says that the last of these evaluated rounds is the run's last."""
    return stop is not None and stop.ends([row[stop.column] for row in rows])
