"""MFL: momentum that survives the round, aggregated like the model."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checked import Decay, Share
from fedbench.core.part import LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round import Fed, Round, State, Turn


@dataclass(frozen=True)
class MFL(Part):
    """Start each client's momentum buffer from the server's: v ← β v + g, y ← y − η v.

    V_{t+1} = Σ p_i v_i^H. Liu et al., "Accelerating Federated Learning via Momentum Gradient
    Descent", IEEE TPDS 2020; RMFL paper, equation 1. g includes weight decay and is clipped, as
    in PyTorch's buffer.
    """

    decides: ClassVar[tuple[str, ...]] = (LOCAL_MOMENTUM,)
    own_momentum: ClassVar[bool] = True
    uploaded_momentum: ClassVar[str] = "v"

    beta: Decay = 0.9  # 0 is FedAvg
    dampened: bool = False  # v ← β v + (1−β) g, the 'exponential moving average' of RMFL's prose
    inherit: Share = 1.0  # factor on the buffer a round starts from; 1−β matches RMFL's scale
    # Readings of the author's public code; 'none' trains without momentum, 'reset' starts from 0,
    # 'chained' passes the buffer from client to client, 'client_stale' keeps each client's own.
    buffer: Literal["aggregated", "chained", "none", "reset", "client_stale"] = "aggregated"

    @property
    def unmappable(self) -> str:
        """Chained clients cannot train side by side."""
        return "hands its buffer from client to client" if self.buffer == "chained" else ""

    def server(self, w: Tensor, fed: Fed) -> State:
        """V_0 = 0."""
        return {"v": torch.zeros_like(w)}

    def client(self, w: Tensor, fed: Fed) -> State:
        """Only 'client_stale' keeps a buffer."""
        return {"v": torch.zeros_like(w)} if self.buffer == "client_stale" else {}

    def send(self, r: Round) -> State:
        """V_t, where clients inherit one."""
        if self.buffer == "chained":
            return r.mine  # no copy: each client leaves its buffer there, also for the next round
        return dict(r.mine) if self.buffer == "aggregated" else {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Fill the buffer before the first step."""
        start = {**t.msg, **t.mine}.get("v", torch.zeros_like(w))
        t.run["v"] = self.inherit * start
        return w

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """V ← β v + g."""
        if self.buffer == "none":
            return step
        t.run["v"] = self.beta * t.run["v"] + (1 - self.beta if self.dampened else 1) * step
        return t.run["v"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Leave the buffer where the next round looks for it."""
        if self.buffer == "aggregated":
            t.up["v"] = t.run["v"]
        elif self.buffer == "chained":
            t.msg["v"] = t.run["v"]  # the message is shared: the next client reads this
        elif self.buffer == "client_stale":
            t.mine["v"] = t.run["v"]
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """V_{t+1} = Σ p_i v_i."""
        if self.buffer == "aggregated":
            r.mine["v"] = r.mean("v")
        return d

    def cost(self, size: Sizes) -> Cost:
        """One more vector each way, where buffers travel."""
        sent = size.d * (self.buffer in ("aggregated", "chained"))
        up = size.d * (self.buffer == "aggregated")
        return Cost(
            down=sent,
            up=up,
            server_memory=sent,
            client_memory=size.d * (self.buffer == "client_stale"),
        )
