"""MimeLite: every local step uses the server's momentum, which is fixed during the round."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import BelowOne
from fedbench.core.part import LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, State, Turn


@dataclass(frozen=True)
class MimeLite(Part):
    """Step along (1−β) g + β s_t; at the server s ← β s + (1−β) Σ p_i ∇F_i(x_t).

    Karimireddy et al., "Breaking the Centralized Barrier for Cross-Device Federated Learning"
    (Mime), NeurIPS 2021, algorithm 1 with the statistics of SGD with momentum. Weight decay is
    not multiplied by 1−β. s_t is the momentum of the local steps, which have no other; the paper's
    form for Adam has other statistics.
    """

    keeps = "s"  # the momentum
    sends = True
    decides = (LOCAL_MOMENTUM,)
    own_momentum = True

    beta: BelowOne = 0.9  # 0 is FedAvg

    def ask(self, w: Tensor, t: Turn) -> State:
        """Compute ∇F_i(x_t), over all of the client's data; it is uploaded in `end`."""
        t.scratch["full"] = t.full_gradient(w)
        return {}

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """(1−β) g + β s_t."""
        return (1 - self.beta) * inner(w) + self.beta * t.msg["s"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload ∇F_i(x_t) beside the model."""
        t.upload["full"] = t.scratch["full"]
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store s_{t+1}; the global update is left as it is."""
        r.state["s"] = self.beta * r.state["s"] + (1 - self.beta) * r.mean("full")
        return d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads one more vector, and passes over its data once more."""
        extra = 1 / size.epochs
        return Cost(
            down=size.d, up=size.d, forward=extra, backward=extra, server_memory=size.d, ops_step=2,
            ops_receive=1, ops_maintain=2,
        )  # fmt: skip
