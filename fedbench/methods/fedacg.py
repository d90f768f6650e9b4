"""FedACG: clients start from the point to which the server's momentum leads."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import BelowOne, NonNegative
from fedbench.core.part import GLOBAL_MOMENTUM, LOCAL_MOMENTUM, Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Round, Turn


@dataclass(frozen=True)
class FedACG(Part):
    """Send z_t = x_t + λ m_t to clients, who train from there with the gradient g + β (y − z_t).

    x_{t+1} = Σ p_i y_i, m_{t+1} = x_{t+1} − x_t, which is λ m_t minus the mean of D_i = z_t − y_i.
    The engine's global model is z, the only vector that clients get; x_{t+1} is scored. Kim, Kim &
    Han, "Communication-Efficient Federated Learning with Accelerated Client Gradient", CVPR 2024,
    algorithm 1.
    """

    keeps = "m"  # the momentum; m_0 = 0, hence z_0 = x_0
    MODELS = ("model",)

    decides = (GLOBAL_MOMENTUM, LOCAL_MOMENTUM)
    follows = dict.fromkeys(
        ("fedexp", "twosided", "fedvarp", "feddyn", "fedspeed", "feddf"),
        "FedACG computes the model x from z, which no later part may change",
    )

    lam: BelowOne = 0.85  # 0 with β = 0 is FedAvg
    beta: NonNegative = 0.001  # strength of the pull towards z_t, as released; 0 is none

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient of loss + (β/2)‖y − z_t‖²."""
        return inner(w) + self.beta * (w - t.w)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """z_t − z_{t+1} = z_t − x_{t+1} − λ m_{t+1}."""
        r.state["m"] = self.lam * r.state["m"] - d
        return d - self.lam * r.state["m"]

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Score x_{t+1} first, as 'model'; the engine scores z_{t+1} too, as 'next'."""
        return {"model": w - self.lam * r.state["m"]}

    def cost(self, size: Sizes) -> Cost:
        """Nothing is sent beside the model; the server stores m."""
        return Cost(server_memory=size.d, ops_step=2, ops_server=1, ops_maintain=1)
