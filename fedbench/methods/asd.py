"""ASD: adaptive self-distillation from the global model, to be added to any base method."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative, Positive
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class ASD(Part):
    """Add λ Σ_j α_j KL(q_g(x_j) ‖ q_y(x_j)), α_j ∝ exp(−H(q_g(x_j))) / p^{y_j}, Σ_j α_j = 1.

    Yashwanth et al., "Adaptive Self-Distillation for Minimizing Client Drift in Heterogeneous
    Federated Learning", equations 2 and 4 to 12. The sum is over the batch; q_g and q_y are the
    softmaxes of the global and the local model at temperature τ, H is the entropy, p^c the share of
    class c in the client's data. With the divergence 'ntd' it is FedNTD+ASD (equations 17 to 19),
    with 'ntd' and uniform weights that paper's FedNTD.
    """

    needs_classes = True

    # The paper gives λ "in units of batch-size B", which cancels the 1/B of equation 5. It has 10
    # for CIFAR-10, 30 for CIFAR-100, 20 for Tiny-ImageNet; 0 is the base method
    lam: NonNegative = 30.0
    tau: Positive = 2.0  # the loss has no factor τ²
    divergence: Literal["kl", "reverse", "js", "ntd"] = "kl"
    weights: Literal["adaptive", "uniform"] = "adaptive"  # uniform: α_j = 1/B (Table 3)
    # H of the softmax at τ, as in the paper, or at 1, as in the released code for FedAvg
    entropy: Literal["tempered", "plain"] = "tempered"
    # Exponents of exp(−H) and of 1/p, which the released code has
    entropy_power: NonNegative = 1.0
    share_power: NonNegative = 1.0
    # 'ntd' as equation 17 is printed: the entries c ≠ y of the softmaxes are not renormalised
    literal: bool = False

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss so far + λ Σ_j α_j D_j, with D_j the divergence of sample j."""
        teacher, student = b.ref[0], b.logits
        alpha = self.log_alpha(teacher, t.labels[b.y] / t.n).softmax(0)  # equations 9 to 12
        divergence = self._divergence(teacher / self.tau, student / self.tau, b.y)
        return value + self.lam * (alpha * divergence).sum()

    def log_alpha(self, teacher: Tensor, p: Tensor) -> Tensor:
        """Log α̂ = −H − log p (B,) of the teacher's logits and labels' shares p (equation 10)."""
        if self.weights == "uniform":
            return torch.zeros_like(teacher[:, 0])
        H = ops.entropy(teacher / (self.tau if self.entropy == "tempered" else 1))
        return -self.entropy_power * H - self.share_power * p.log()

    def cost(self, size: Sizes) -> Cost:
        """The teacher's forward pass."""
        return Cost(forward=1, teachers=1)

    def _divergence(self, g: Tensor, z: Tensor, y: Tensor) -> Tensor:
        """D (B,) between the teacher's logits g and the student's z, both divided by τ."""
        if self.divergence == "reverse":
            return ops.kl(z, g)
        if self.divergence == "js":
            # log 2M; `kl` normalises it to M
            middle = torch.logaddexp(g.log_softmax(-1), z.log_softmax(-1))
            return (ops.kl(g, middle) + ops.kl(z, middle)) / 2
        if self.divergence == "ntd" and self.literal:
            a, b = g.log_softmax(-1), z.log_softmax(-1)
            return ops.without_true(a.exp() * (a - b), y).sum(-1)
        if self.divergence == "ntd":
            return ops.kl(ops.without_true(g, y), ops.without_true(z, y), 1)
        return ops.kl(g, z)
