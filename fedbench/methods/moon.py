"""MOON: features like the global model's, and unlike those of the client's previous model."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.checks import NonNegative, Positive
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, State, Turn, pack, unpack


@dataclass(frozen=True)
class MOON(Part):
    """Add μ times the mean of −log(e^{s_g/τ} / (e^{s_g/τ} + e^{s_p/τ})).

    s_g and s_p are the cosines of the student's projected features with those of the global model
    and with those of the model that the client trained in its last turn. With `first: random` that
    model's layers are drawn as PyTorch draws layers by itself, and not by a model's own rule, such
    as He's weights. Li, He & Song, "Model-Contrastive Federated Learning", CVPR 2021.
    """

    # 5 for CIFAR, 1 for Tiny-ImageNet, 0.1 for text in the FedGKD paper; 0 is FedAvg
    mu: NonNegative = 5.0
    tau: Positive = 0.5
    # In a client's first turn: no term, or the previous model is x_0 or a random network
    first: Literal["skip", "x0", "random"] = "skip"

    needs_projection = True

    def client(self, w: Tensor, fed: Federation) -> State:
        """The previous model is x_0 before the client's first turn."""
        return pack(fed.start, "prev") | {"seen": w.new_zeros(())}

    def draw(self, rng: torch.Generator, t: Turn) -> State:
        """A random network, with 'random'."""
        return pack(t.fed.net.fresh(rng), "prev") if self.first == "random" else {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """With 'random', use the random network in the client's first turn."""
        for name, value in t.drawn.items():
            t.state[name] = torch.where(t.state["seen"] > 0, t.state[name], value)
        return w

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + μ times the mean of log(1 + e^{(s_p − s_g)/τ})."""
        to_global = F.cosine_similarity(b.features, b.ref[1], dim=-1)
        to_previous = F.cosine_similarity(b.features, b.of(unpack(t.state, "prev"))[1], dim=-1)
        contrast = F.softplus((to_previous - to_global) / self.tau).mean()
        return value + self.mu * (contrast * t.state["seen"] if self.first == "skip" else contrast)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the model for the client's next turn."""
        t.state = pack(t.y, "prev") | {"seen": torch.ones_like(t.state["seen"])}
        return delta

    def cost(self, size: Sizes) -> Cost:
        """Two teachers' forward passes; each client stores one model."""
        return Cost(forward=2, teachers=2, client_memory=size.d + 1, ops_end=1)
