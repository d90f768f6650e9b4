"""FedGA: each client starts displaced by how its gradient differs from the mean gradient."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedGA(Part):
    """Start client i from x_t − β (ḡ − g_i), with g_i = ∇F_i(x_t) and ḡ = Σ p_i g_i.

    To first order, a round descends f + (β/2) Σ p_i ‖g_i − ḡ‖². Dandi, Barba & Jaggi,
    "Implicit Gradient Alignment in Distributed and Federated Learning", AAAI 2022. The gradients
    are exchanged before local training.
    """

    starts_elsewhere = True
    excludes: ClassVar = {
        "fedgaonetrip": "that is the same method with gradients of earlier rounds"
    }

    beta: NonNegative = 0.1  # factor of the displacement; 0 is FedAvg
    in_lr: bool = True  # β is in units of η_t, as in the paper's grid {0.01, 0.1, 1}·η

    def ask(self, w: Tensor, t: Turn) -> State:
        """g_i, over all of the client's data."""
        t.scratch["g"] = t.full_gradient(w)
        return {"g": t.scratch["g"]}

    def answer(self, asks: Sequence[State], p: Tensor, r: Round) -> State:
        """Answer with ḡ."""
        return {"g": weighted_mean([ask["g"] for ask in asks], p)}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """x_t − β (ḡ − g_i)."""
        scale = t.lr if self.in_lr else 1.0
        return w - self.beta * scale * (t.msg["g"] - t.scratch.pop("g"))

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads one more vector, and passes over its data once more."""
        extra = 1 / size.epochs
        return Cost(
            down=size.d, up=size.d, forward=extra, backward=extra, ops_begin=2, ops_receive=1
        )
