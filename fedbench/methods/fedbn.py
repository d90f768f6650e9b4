"""FedBN: normalisation layers stay at the clients."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.core.flat_network import Buffers
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Turn, pack, unpack


@dataclass(frozen=True)
class FedBN(Part):
    """A client keeps the weights and running statistics of its own normalisation layers.

    Li et al., "FedBN: Federated Learning on Non-IID Features via Local Batch Normalization", ICLR
    2021, algorithm 1. Its score is that of the clients' own models: `personal_accuracy` of the
    probe `personal`. The global model has the means of these layers, which the paper does not send:
    of the traffic that is counted they are a small part. Without such layers it is FedAvg.
    """

    starts_elsewhere = True
    OWN = "own"

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The global model with the own normalisation layers."""
        return torch.where(t.fed.net.norm_mask().to(w.device), t.state["own"], w)

    def begin_buffers(self, buffers: Buffers, t: Turn) -> Buffers:
        """The own running statistics."""
        return unpack(t.state, "own").buffers

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the own model, of which later turns use the normalisation layers."""
        t.state |= pack(t.y, "own")
        return delta

    def cost(self, size: Sizes) -> Cost:
        """A client stores a model."""
        return Cost(client_memory=size.d, ops_begin=1, ops_end=1)
