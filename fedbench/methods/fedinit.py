"""FedInit: clients start on the other side of the global model than where they ended last."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Federation, State, Turn


@dataclass(frozen=True)
class FedInit(Part):
    """Start client i from x_t + β (x_t − y_i), with the model y_i that it trained in its last turn.

    Before its first turn y_i = x_0; x_{t+1} = Σ p_i y_i. Sun, Shen & Tao, "Understanding How
    Consistency Works in Federated Learning via Stage-wise Relaxed Initialization", NeurIPS 2023,
    algorithm 1. The released code (FL-Simulator with `use-RI`) adds to x_t the mean of what clients
    moved from where they started, hence no part of β (x_t − y_i) (`from_start`); it makes no
    difference where all clients take part.
    """

    starts_elsewhere = True

    beta: NonNegative = 0.1  # 0 is FedAvg
    from_start: bool = False  # the update is the start minus the new y_i, as released

    def client(self, w: Tensor, fed: Federation) -> State:
        """The last model is x_0 before the client's first turn."""
        return {"y": w}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """x_t + β (x_t − y_i)."""
        t.scratch["offset"] = self.beta * (t.w - t.state["y"])
        return w + t.scratch["offset"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the new y_i; upload x_t − y_i, or the start minus y_i."""
        t.state["y"] = t.y.w
        return delta + t.scratch["offset"] if self.from_start else delta

    def cost(self, size: Sizes) -> Cost:
        """A client stores a model; the released code's server stores those of all clients."""
        return Cost(client_memory=size.d, ops_begin=2, ops_end=1 + self.from_start)
