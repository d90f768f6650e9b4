"""Counts the floats that cross the network."""

from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.core.flat import Buffers
from fedbench.core.round import State


@dataclass
class Traffic:
    """Floats sent to (down) and by (up) clients since the run began, all clients together."""

    down: int = 0
    up: int = 0

    def broadcast(self, model: int, messages: Sequence[State], clients: int) -> None:
        """The global model and every part's message, to each client of the cohort."""
        self.down += clients * (model + floats(messages))

    def collect(self, model: int, extras: Sequence[State]) -> None:
        """One client's model and every part's extras."""
        self.up += model + floats(extras)


def floats(states: Sequence[State]) -> int:
    """Numbers in the tensors of some states."""
    return sum(value.numel() for state in states for value in state.values())


def model_floats(d: int, buffers: Buffers) -> int:
    """Weights and running statistics; counters are not floats."""
    return d + sum(v.numel() for v in buffers.values() if v.is_floating_point())
