"""FedGKD-Vote: distillation from each of the newest global models, by their losses."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import Count, NonNegative, Positive
from fedbench.core import ops
from fedbench.core.flat_network import Model
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, Round, State, Turn, pack, unpack


@dataclass(frozen=True)
class FedGKDVote(Part):
    """Add Σ_m (γ_m/2) KL(q_{x_{t−m+1}} ‖ q_y), γ_m/2 = λ softmax_m(−L_m / b).

    L_m is the loss of the m-th newest global model on held-out data, measured once; b is 1/M.
    Yao et al., "Local-Global Knowledge Distillation in Heterogeneous Federated Learning with
    Non-IID Data", equation 5 and "Parameter Setting".
    """

    needs_classes = True

    lam: NonNegative = 0.1  # 0 is FedAvg
    M: Count = 5  # 5 for images, 3 for text
    b: Literal["nominal", "buffered"] = "nominal"  # 1/M, or 1 / (number of models so far)
    T: Positive = 1.0
    scale_t: bool = True  # the factor T² of the released code
    # Which models are teachers before round M, not said in the paper. start: all so far, x_0
    # included; first_aggregate: those that were aggregated, hence no term in the first round
    buffer_from: Literal["start", "first_aggregate"] = "start"

    proxy_data = True
    computes_at_server: ClassVar[bool] = True
    excludes: ClassVar[dict[str, str]] = {
        "fedgkd": "both distil from the newest global models, from their mean or from each"
    }

    def server(self, w: Tensor, fed: Federation) -> State:
        """The M newest global models, newest first, and their losses."""
        return ops.ring(pack(fed.start, "w") | {"L": w.new_zeros(())}, self.M)

    def send(self, r: Round) -> State:
        """Send γ_m/2 (M,) and the models before x_t."""
        L = r.validate(Model(r.w, r.buffers)).to(r.w)
        r.state = ops.with_newest(r.state, pack(Model(r.w, r.buffers), "w") | {"L": L})
        models = unpack({k: v for k, v in r.state.items() if v.is_floating_point()}, "w")
        n = ops.count_of_models(self.M, r.round, self.buffer_from == "start")
        L = r.state["L"]
        votes = (-L[:n] * (self.M if self.b == "nominal" else n)).softmax(0)
        gamma = torch.cat([self.lam * votes, L.new_zeros(self.M - n)])  # 0: there is no model yet
        untrained = r.round == 0 and self.buffer_from == "first_aggregate"
        message = {"gamma": torch.zeros_like(L) if untrained else gamma}
        for m in range(1, self.M):
            old = Model(models.w[m], {k: v[m] for k, v in models.buffers.items()})
            message |= pack(old, str(m))
        return message

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + Σ_m (γ_m/2) T² KL_m."""
        older = [b.of(unpack(t.msg, str(m)))[0] for m in range(1, self.M)]
        divergences = ops.kl(torch.stack([b.ref[0], *older]) / self.T, b.logits / self.T)
        scale = self.T**2 if self.scale_t else 1
        return value + scale * (t.msg["gamma"] @ divergences).mean()

    def cost(self, size: Sizes) -> Cost:
        """A client is sent M − 1 more models and has M teachers; the server stores M models."""
        return Cost(
            down=(self.M - 1) * size.d + self.M, forward=self.M, teachers=self.M,
            server_memory=self.M * (size.d + 1), ops_maintain=1,
        )  # fmt: skip
