"""Local only: each client trains alone; the reference row of personalised methods."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.core.flat_network import Buffers
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Turn, pack, unpack


@dataclass(frozen=True)
class LocalOnly(Part):
    """A client goes on from its own model y_i; nothing is averaged: x_{t+1} = x_0.

    The row "local" of papers on personalised FL (such as Collins et al., ICML 2021, Table 1). The
    run's accuracy is that of x_0 and says nothing: its score is `personal_accuracy` of the probe
    `personal`. In truth nothing would be sent; the traffic that is counted is FedAvg's.
    """

    alone = "nothing of its clients is averaged or sent"
    starts_elsewhere = True
    OWN = "own"

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Start from the own model."""
        return t.state["own"]

    def begin_buffers(self, buffers: Buffers, t: Turn) -> Buffers:
        """With the running statistics that belong to it."""
        return unpack(t.state, "own").buffers

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the own model, and change nothing of the global one."""
        t.state |= pack(t.y, "own")
        return torch.zeros_like(delta)

    def cost(self, size: Sizes) -> Cost:
        """A client stores its model."""
        return Cost(client_memory=size.d, ops_end=1)
