"""The base of FedAdagrad, FedAdam and FedYogi: an adaptive optimiser at the server."""

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.core.part import GLOBAL_MOMENTUM, SERVER_OPTIMISER, STEP_LENGTH, Cost, Part, Sizes
from fedbench.core.round_data import Federation, Round, State


class Adaptive(Part):
    """Step by η_g m/(√v + τ), m ← β1 m + (1−β1) D̄, and v as `second` says; no bias correction."""

    decides: ClassVar[tuple[str, ...]] = (SERVER_OPTIMISER, GLOBAL_MOMENTUM, STEP_LENGTH)

    beta1: float
    eta_g: float
    tau: float
    v0: float | None  # v before round 0; None: τ²

    @abstractmethod
    def second(self, v: Tensor, d: Tensor) -> Tensor:
        """The next v, from v and D̄."""

    def server(self, w: Tensor, fed: Federation) -> State:
        """The momentum starts at m = 0, and v at `v0`."""
        v = torch.full_like(w, self.tau**2 if self.v0 is None else self.v0)
        return {"m": torch.zeros_like(w), "v": v}

    def step(self, d: Tensor, r: Round) -> Tensor:
        """η_g m/(√v + τ), with the new m and v."""
        v = self.second(r.state["v"], d)
        m = self.beta1 * r.state["m"] + (1 - self.beta1) * d
        r.state.update(m=m, v=v)
        return self.eta_g * m / (v.sqrt() + self.tau)

    def cost(self, size: Sizes) -> Cost:
        """The server stores m and v; it computes D̄², the root and the quotient."""
        return Cost(server_memory=2 * size.d, ops_server=4, ops_maintain=2)
