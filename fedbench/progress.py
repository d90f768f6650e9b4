"""All that changes between the rounds of a run, and so all that a checkpoint holds."""

from dataclasses import asdict, dataclass, field
from typing import Any

from fedbench.clients import ClientStates
from fedbench.core.flat import Model
from fedbench.core.round import State
from fedbench.core.spill import Spill
from fedbench.probe import Cells
from fedbench.traffic import Traffic

Row = dict[str, float]


def _no_seconds() -> dict[str, float]:
    return {"train": 0.0, "server": 0.0, "evaluate": 0.0, "watch": 0.0}


@dataclass
class Progress:
    """The global model after `round` rounds, states of server and clients, and the history."""

    world: Model
    server: list[State]
    clients: ClientStates
    round: int = 0
    rows: list[Row] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)
    passes: int = 0  # samples through one forward and backward pass
    seconds: dict[str, float] = field(default_factory=_no_seconds)
    diverged: bool = False
    memory: list[State] = field(default_factory=list)  # of the probes, in their order
    tables: list[list[Cells]] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """Plain containers and tensors, fit for a checkpoint."""
        return {
            "world": dict(self.world._asdict()),
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
        """The inverse of `state`."""
        own = {k: v for k, v in state.items() if k not in ("id", "data")}
        clients = ClientStates(spill)
        clients.restore(own.pop("clients"))
        world, traffic = Model(**own.pop("world")), Traffic(**own.pop("traffic"))
        server = [{k: spill.keep(v) for k, v in kept.items()} for kept in own.pop("server")]
        return cls(world, server, clients, traffic=traffic, **own)
