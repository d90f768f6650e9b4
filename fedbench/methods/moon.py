"""MOON: contrast with the client's previous model, attraction by the global one."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.checked import NonNegative, Positive
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Batch, Fed, State, Turn, pack, unpack


@dataclass(frozen=True)
class MOON(Part):
    """Add μ times the mean of −log(e^{s_g/τ} / (e^{s_g/τ} + e^{s_p/τ})).

    s_g and s_p are the cosines between the student's projected features and those of the global
    model and of the model this client ended with the last time it took part. Li, He & Song,
    "Model-Contrastive Federated Learning", CVPR 2021.
    """

    mu: NonNegative = 5.0  # 5 for CIFAR, 1 for Tiny-ImageNet, 0.1 for text in G; 0 is FedAvg
    tau: Positive = 0.5
    # A client's first turn: no term, or a contrast with x_0 or with a random network of its own
    first: Literal["skip", "x0", "random"] = "skip"

    needs_projection: ClassVar[bool] = True

    def client(self, w: Tensor, fed: Fed) -> State:
        """The previous model, x_0 before the first turn."""
        return pack(fed.start, "prev") | {"seen": w.new_zeros(())}

    def draw(self, rng: torch.Generator, t: Turn) -> State:
        """A random network, where a client contrasts with one."""
        return pack(t.fed.net.fresh(rng), "prev") if self.first == "random" else {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Take what was drawn for the previous model in a client's first turn."""
        for name, value in t.drawn.items():
            t.mine[name] = torch.where(t.mine["seen"] > 0, t.mine[name], value)
        return w

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + μ contrast; −log(e^a / (e^a + e^c)) = log(1 + e^{c−a})."""
        near = F.cosine_similarity(b.features, b.ref[1], dim=-1)
        far = F.cosine_similarity(b.features, b.of(unpack(t.mine, "prev"))[1], dim=-1)
        contrast = b.mean(F.softplus((far - near) / self.tau))
        return value + self.mu * (contrast * t.mine["seen"] if self.first == "skip" else contrast)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Keep the model for the next turn."""
        t.mine = pack(t.y, "prev") | {"seen": torch.ones_like(t.mine["seen"])}
        return delta

    def cost(self, size: Sizes) -> Cost:
        """Two teachers' forward passes, one model kept."""
        return Cost(forward=2, teachers=2, client_memory=size.d + 1, ops_end=1)
