"""What each client keeps between its turns, in memory while it fits, else in files."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from fedbench.core.round import State
from fedbench.core.spill import Spill

Kept = list[State]


class ClientStates(Mapping[int, Kept]):
    """States by client number; parts never notice where one lives.

    A client's place is decided when it first takes part: 100 clients of an 11-million-weight model
    take 4.5 GB for each vector they keep.
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
