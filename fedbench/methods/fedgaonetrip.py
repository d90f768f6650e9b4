"""FedGA without an extra exchange: gradients are those of a client's last turn."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedGAOneTrip(Part):
    """Start client i from x_t − β (ḡ − g_i), with g_i its average gradient in its last turn.

    g_i = D_i / (η ‖a_i‖₁), where D_i is measured from the displaced start and ‖a_i‖₁ is H_i for
    plain local SGD; ḡ = Σ p_i g_i over the last cohort. A client without an earlier turn starts
    from x_t. A reading of Dandi, Barba & Jaggi (AAAI 2022) that fits the FedDPC paper, which lists
    FedGA under "previous local states" and prints the same seconds per round for it as for FedProx.
    """

    keeps = "g"  # the mean ḡ
    sends = True
    excludes: ClassVar = {"fedga": "that is the same method with this round's gradients"}
    numerics: ClassVar[dict[str, int]] = {"momentum": 4}  # ‖a_i‖₁ in place of H_i
    starts_elsewhere = True
    needs_sgd = "takes D_i/(η ‖a_i‖₁) for a mean gradient"

    beta: NonNegative = 0.1  # factor of the displacement; 0 is FedAvg
    in_lr: bool = True  # β is in units of η_t, as in the paper's grid {0.01, 0.1, 1}·η
    with_offset: bool = False  # measure D_i from x_t: the server then needs no g_i

    def client(self, w: Tensor, fed: Federation) -> State:
        """There is no g_i yet; `known` becomes 1 when there is."""
        return {"g": torch.zeros_like(w), "known": w.new_zeros(())}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """x_t − β (ḡ − g_i)."""
        return w - self._offset(t)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the new g_i, and upload it unless the server can compute ḡ itself."""
        moved = t.w - t.y.w if self.with_offset else t.w - t.y.w - self._offset(t)
        g = moved / (t.effective_steps * t.lr)
        t.state = {"g": g, "known": torch.ones_like(t.state["known"])}
        if not self.with_offset:
            t.upload["g"] = t.state["g"]  # Deviation: from D_i alone the server does not know it
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store ḡ of this cohort; the global update is left as it is."""
        if self.with_offset:
            r.state["g"] = weighted_mean(r.raw, r.p / r.effective_steps) / r.lr
        else:
            r.state["g"] = r.mean("g")
        return d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent ḡ and uploads g_i, unless the server can compute ḡ itself."""
        return Cost(
            down=size.d, up=0 if self.with_offset else size.d, client_memory=size.d + 1,
            server_memory=size.d, ops_begin=2, ops_end=1 if self.with_offset else 2, ops_receive=1,
            ops_maintain=1,
        )  # fmt: skip

    def _offset(self, t: Turn) -> Tensor:
        """β (ḡ − g_i); 0 for a client without an earlier turn."""
        scale = t.lr if self.in_lr else 1.0
        return self.beta * scale * t.state["known"] * (t.msg["g"] - t.state["g"])
