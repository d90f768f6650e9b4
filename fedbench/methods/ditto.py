"""Ditto: each client has a model of its own that is pulled towards the global one."""

from dataclasses import dataclass

import torch

from fedbench.base.checks import NonNegative
from fedbench.core.flat_network import Model
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Turn, pack, unpack


@dataclass(frozen=True)
class Ditto(Part):
    """Beside FedAvg a client trains v_i: v ← v − η (∇f_i(v) + λ (v − x_t)), on the same batches.

    Li et al., "Ditto: Fair and Robust Federated Learning Through Personalization", ICML 2021,
    algorithm 1, with as many steps for v_i as for the global model. The steps are plain SGD without
    the run's momentum, weight decay and clipping. The global model is FedAvg's; the score of the
    clients' own is `personal_accuracy` of the probe `personal`.
    """

    OWN = "own"
    sequential = "each client's own model takes gradients of its own"

    lam: NonNegative = 1.0  # λ; 0 trains each client alone

    def after(self, b: Batch, t: Turn) -> None:
        """A step of v_i on the batch of the step just made."""
        own = unpack(t.state, "own")
        v = own.w.detach().requires_grad_()
        buffers = {name: value.clone() for name, value in own.buffers.items()}
        with torch.enable_grad():
            loss = b.criterion(b.net.train(v, buffers, b.x)[0], b.y).mean()
        g = torch.autograd.grad(loss, v)[0] + self.lam * (own.w - t.w)
        t.state |= pack(Model(own.w - t.lr * g, buffers), "own")

    def cost(self, size: Sizes) -> Cost:
        """One more pass each way per sample; a client stores v_i."""
        return Cost(forward=1, backward=1, client_memory=size.d, ops_step=4)
