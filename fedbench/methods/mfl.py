"""MFL: local momentum is aggregated as the model is, and clients inherit it next round."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedbench.base.checks import BelowOne, Share
from fedbench.core.part import LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State, Turn


@dataclass(frozen=True)
class MFL(Part):
    """Start each client's momentum buffer from the server's: v ← β v + g, y ← y − η v.

    V_{t+1} = Σ p_i v_i^H. Liu et al., "Accelerating Federated Learning via Momentum Gradient
    Descent", IEEE TPDS 2020; RMFL paper, equation 1. g is clipped and contains weight decay,
    as in PyTorch's buffer.
    """

    decides = (LOCAL_MOMENTUM,)
    own_momentum = True
    uploaded_momentum = "v"

    beta: BelowOne = 0.9  # 0 is FedAvg
    dampened: bool = False  # v ← β v + (1−β) g, the 'exponential moving average' of RMFL's text
    inherit: Share = 1.0  # factor of the buffer that a client inherits; 1−β is RMFL's scale
    # Readings of the author's public code. none: no momentum; reset: every turn starts from 0;
    # chained: each client inherits from the client before; client_stale: from its own last turn
    buffer: Literal["aggregated", "chained", "none", "reset", "client_stale"] = "aggregated"

    @property
    def sequential(self) -> str:
        """With 'chained', clients cannot train at the same time."""
        return "hands its buffer from client to client" if self.buffer == "chained" else ""

    def server(self, w: Tensor, fed: Federation) -> State:
        """The momentum starts at V_0 = 0, if clients inherit it from the server."""
        return {"v": torch.zeros_like(w)} if self.buffer in ("aggregated", "chained") else {}

    def client(self, w: Tensor, fed: Federation) -> State:
        """With 'client_stale', the client's buffer starts at 0."""
        return {"v": torch.zeros_like(w)} if self.buffer == "client_stale" else {}

    def send(self, r: Round) -> State:
        """Send V_t, if clients inherit it."""
        if self.buffer == "chained":
            return r.state  # not a copy: each client writes its buffer there
        return dict(r.state) if self.buffer == "aggregated" else {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Fill the buffer with what the client inherits."""
        inherited = {**t.msg, **t.state}.get("v", torch.zeros_like(w))
        t.scratch["v"] = self.inherit * inherited
        return w

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The new buffer v ← β v + g."""
        if self.buffer == "none":
            return step
        t.scratch["v"] = self.beta * t.scratch["v"] + (1 - self.beta if self.dampened else 1) * step
        return t.scratch["v"]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Store the buffer for those who inherit it."""
        if self.buffer == "aggregated":
            t.upload["v"] = t.scratch["v"]
        elif self.buffer == "chained":
            t.msg["v"] = t.scratch["v"]  # all clients have this message: the next one reads it
        elif self.buffer == "client_stale":
            t.state["v"] = t.scratch["v"]
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store V_{t+1} = Σ p_i v_i; the global update is left as it is."""
        if self.buffer == "aggregated":
            r.state["v"] = r.mean("v")
        return d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads one more vector, if its buffer is sent."""
        sent = size.d * (self.buffer in ("aggregated", "chained"))
        up = size.d * (self.buffer == "aggregated")
        return Cost(
            down=sent, up=up, server_memory=sent,
            client_memory=size.d * (self.buffer == "client_stale"),
        )  # fmt: skip
