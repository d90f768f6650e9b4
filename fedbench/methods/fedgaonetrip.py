"""FedGA without the extra exchange: gradients are those of the last participation."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checked import NonNegative
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Fed, Round, State, Turn, weighted_mean


@dataclass(frozen=True)
class FedGAOneTrip(Part):
    """Start client i from x_t − β (ḡ − g_i) with g_i its own average gradient of the last time.

    g_i = D_i / (η H_i) without the start's offset, ḡ = Σ p_i g_i over the last cohort; a newcomer
    starts from x_t. A reading of Dandi, Barba & Jaggi (AAAI 2022) that fits the FedDPC paper: it
    lists FedGA under "previous local states" and prints for it FedProx's seconds per round.
    """

    excludes: ClassVar = {"fedga": "it is the same method with this round's gradients"}

    beta: NonNegative = 0.1  # step of the displacement; 0 is FedAvg
    in_lr: bool = True  # β counts in units of η_t, as the grid {0.01, 0.1, 1}·η does; else as it is
    with_offset: bool = False  # leave the start's offset in g_i: ḡ then follows from the D_i alone

    def server(self, w: Tensor, fed: Fed) -> State:
        """ḡ = 0; nobody is displaced before there is another."""
        return {"g": torch.zeros_like(w)}

    def client(self, w: Tensor, fed: Fed) -> State:
        """No g_i yet."""
        return {"g": torch.zeros_like(w), "known": w.new_zeros(())}

    def send(self, r: Round) -> State:
        """ḡ."""
        return dict(r.mine)

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """x_t minus the offset."""
        return w - self._offset(t)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """The new g_i."""
        moved = t.w - t.y.w
        if not self.with_offset:
            moved = moved - self._offset(t)
        t.mine = {"g": moved / (t.H * t.lr), "known": torch.ones_like(t.mine["known"])}
        if not self.with_offset:
            t.up["g"] = t.mine["g"]  # Deviation: D_i alone does not tell the server the offset
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """ḡ of this cohort."""
        from_raw = self.with_offset
        r.mine["g"] = weighted_mean(r.raw, r.p / r.steps) / r.lr if from_raw else r.mean("g")
        return d

    def cost(self, size: Sizes) -> Cost:
        """ḡ down; g_i up unless the server can form ḡ itself."""
        return Cost(
            down=size.d,
            up=0 if self.with_offset else size.d,
            client_memory=size.d + 1,
            server_memory=size.d,
            ops_begin=2,
            ops_end=1 if self.with_offset else 2,
            ops_receive=1,
            ops_maintain=1,
        )

    def _offset(self, t: Turn) -> Tensor:
        """β (ḡ − g_i), 0 for a newcomer."""
        scale = t.lr if self.in_lr else 1.0
        return self.beta * scale * t.mine["known"] * (t.msg["g"] - t.mine["g"])
