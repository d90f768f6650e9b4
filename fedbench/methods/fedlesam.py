"""FedLESAM: sharpness-aware steps uphill along the way that the global model has come."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.ops import unit
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Federation, Gradient, Round, State, Turn


@dataclass(frozen=True)
class FedLESAM(Part):
    """Take the gradient a step uphill that is the same all round: g(y + ρ δ/‖δ‖), δ = x_s − x_t.

    s is the round of the client's last turn; before its first turn x_s is x_0. Fan et al., "Locally
    Estimated Global Perturbations are Better than Local Perturbations for Federated Sharpness-aware
    Minimization", ICML 2024, algorithm 1; their FedLESAM-S is [fedlesam, scaffold]. The released
    code sends the server's last step instead (`since: round`), and shifts all weights of the l-th
    tensor by the l-th number of that flat vector, over the sum of these numbers' sizes; here each
    weight has its own entry, over the norm, as in the paper.
    """

    sends = True  # with 'round' x_{t−1}; with 'turn' the server keeps nothing
    excludes = dict.fromkeys(
        ("fedsam", "fedsmoo", "fedspeed"),
        "both take the gradient a step uphill, each along a direction of its own",
    )

    rho: NonNegative = 0.1  # length of the step uphill, in model units; 0 is FedAvg
    # s: the round of the client's last turn, whose model it has kept, or t − 1, which is sent
    since: Literal["turn", "round"] = "turn"

    def server(self, w: Tensor, fed: Federation) -> State:
        """With 'round', the model of the round before, at first x_0."""
        return {"old": w} if self.since == "round" else {}

    def client(self, w: Tensor, fed: Federation) -> State:
        """With 'turn', the global model of the client's last turn, at first x_0."""
        return {"old": w} if self.since == "turn" else {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Compute the step uphill; the client starts from the global model."""
        old = (t.state if self.since == "turn" else t.msg)["old"]
        t.scratch["uphill"] = self.rho * unit(old - t.w)
        return w

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient at the end of the step uphill, the only one that is computed."""
        return inner(w + t.scratch["uphill"])

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """With 'turn', keep x_t for the client's next turn."""
        if self.since == "turn":
            t.state["old"] = t.w
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """With 'round', keep x_t; the global update is left as it is."""
        if self.since == "round":
            r.state["old"] = r.w
        return d

    def cost(self, size: Sizes) -> Cost:
        """One model is stored, at the client, or at the server, which sends it."""
        turn = self.since == "turn"
        return Cost(
            down=size.d * (not turn), client_memory=size.d * turn, ops_begin=2, ops_step=1,
            server_memory=size.d * (not turn), ops_end=int(turn), ops_maintain=int(not turn),
        )  # fmt: skip
