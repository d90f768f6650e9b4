"""FedGA: local models start displaced against the disagreement of the gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checked import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedGA(Part):
    """Start client i from x_t − β (ḡ − g_i), with g_i = ∇F_i(x_t) and ḡ = Σ p_i g_i.

    To first order a round follows the gradient of f + (β/2) Σ p_i ‖g_i − ḡ‖². Dandi, Barba & Jaggi,
    "Implicit Gradient Alignment in Distributed and Federated Learning", AAAI 2022. The gradients
    are exchanged before training.
    """

    excludes: ClassVar = {"fedgaonetrip": "it is the same method with last round's gradients"}

    beta: NonNegative = 0.1  # step of the displacement; 0 is FedAvg
    in_lr: bool = True  # β counts in units of η_t, as the grid {0.01, 0.1, 1}·η does; else as it is

    def ask(self, w: Tensor, t: Turn) -> State:
        """g_i, over all of the client's data."""
        t.run["g"] = t.full_gradient(w)
        return {"g": t.run["g"]}

    def answer(self, asks: Sequence[State], p: Tensor, r: Round) -> State:
        """ḡ."""
        return {"g": weighted_mean([ask["g"] for ask in asks], p)}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """x_t − β (ḡ − g_i)."""
        scale = t.lr if self.in_lr else 1.0
        return w - self.beta * scale * (t.msg["g"] - t.run.pop("g"))

    def cost(self, size: Sizes) -> Cost:
        """One more vector each way and one more pass over the client's data."""
        extra = 1 / size.epochs
        return Cost(
            down=size.d,
            up=size.d,
            forward=extra,
            backward=extra,
            ops_begin=2,
            ops_receive=1,
        )
