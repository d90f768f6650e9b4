"""FedGKD: distillation from the mean of the newest global models."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from fedbench.base.checks import Count, NonNegative, Positive
from fedbench.core import ops
from fedbench.core.flat_network import Model
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, Round, State, Turn, pack, unpack


@dataclass(frozen=True)
class FedGKD(Part):
    """Add (γ/2) T² KL(q_w̄(T) ‖ q_y(T)), w̄ the mean of the M newest global models, x_t included.

    Yao et al., "Local-Global Knowledge Distillation in Heterogeneous Federated Learning with
    Non-IID Data", equations 3 and 4 and algorithm 1. q are softmaxes at temperature T. FedGKD+ is
    this part with a model that has a projection head. Norm buffers are averaged like weights.
    """

    coef: NonNegative = 0.1  # γ/2: 0.1 for ResNet-8 and DistilBERT, 0.05 for ResNet-50; 0 is FedAvg
    M: Count = 5  # 5 for images, 1 for text
    T: Positive = 1.0
    scale_t: bool = True  # the factor T² of the released code; the FedADC paper prints none
    regulariser: Literal["kl", "mse"] = "kl"  # mse: mean squared error of logits (Table 9, M = 1)
    # Which models w̄ averages before round M, not said in the paper. start: all so far, with x_0;
    # first_aggregate: those that were aggregated, as released, hence no term in the first round
    buffer_from: Literal["start", "first_aggregate"] = "start"
    skip_first: bool = False  # no term in the first round, as released

    @property
    def needs_classes(self) -> bool:
        """KL is of softmaxes."""
        return self.regulariser == "kl"

    def server(self, w: Tensor, fed: Federation) -> State:
        """The M newest global models, newest first; none with M = 1, where w̄ is x_t."""
        return ops.ring(pack(fed.start, "w"), self.M) if self.M > 1 else {}

    def send(self, r: Round) -> State:
        """Send w̄, unless it is x_t."""
        if self.M == 1:
            return {}
        r.state = ops.with_newest(r.state, pack(Model(r.w, r.buffers), "w"))
        n = ops.count_of_models(self.M, r.round, self.buffer_from == "start")
        return {k: v[:n].mean(0) for k, v in r.state.items() if v.is_floating_point()}

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + (γ/2) T² KL."""
        if t.round == 0 and (self.skip_first or self.buffer_from == "first_aggregate"):
            return value
        teacher = b.of(unpack(t.msg, "w"))[0] if self.M > 1 else b.ref[0]
        if self.regulariser == "mse":
            return value + self.coef * (teacher - b.logits).square().mean(-1).mean()
        scale = self.T**2 if self.scale_t else 1
        return value + self.coef * scale * ops.kl(teacher / self.T, b.logits / self.T).mean()

    def cost(self, size: Sizes) -> Cost:
        """The teacher's forward pass; with M > 1 w̄ is sent and the server stores M models."""
        if self.M == 1:
            return Cost(forward=1, teachers=1)
        return Cost(
            down=size.d, forward=1, teachers=1, server_memory=self.M * size.d, ops_server=self.M,
            ops_maintain=1,
        )  # fmt: skip
