"""ASD: adaptive self-distillation from the global model, a plug-in for any base method."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedbench.base.checked import NonNegative, Positive
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Batch, Turn


@dataclass(frozen=True)
class ASD(Part):
    """Add λ Σ_j α_j KL(q_g(x_j) ‖ q_y(x_j)), α_j ∝ exp(−H(q_g(x_j))) / p^{y_j}, Σ_j α_j = 1.

    Yashwanth et al., "Adaptive Self-Distillation for Minimizing Client Drift in Heterogeneous
    Federated Learning", equations 2 and 4 to 12; q are softmaxes at temperature τ, g the global
    model, p the class shares of the client's data, the sum over the batch. With 'ntd' it is
    FedNTD+ASD (equations 17 to 19), with 'ntd' and uniform weights that paper's FedNTD.
    """

    # λ is "in units of batch-size B": equation 5's 1/B is cancelled. 10 for CIFAR-10, 30 for
    # CIFAR-100, 20 for Tiny-ImageNet; 0 is the base method
    lam: NonNegative = 30.0
    tau: Positive = 2.0  # no τ² factor
    divergence: Literal["kl", "reverse", "js", "ntd"] = "kl"
    weights: Literal["adaptive", "uniform"] = "adaptive"  # uniform: α_j = 1/B (Table 3)
    # The paper's H is of the tempered softmax; the released code has the plain one on FedAvg
    entropy: Literal["tempered", "plain"] = "tempered"
    # Exponents of exp(−H) and of 1/p in the released code
    entropy_power: NonNegative = 1.0
    share_power: NonNegative = 1.0
    # 'ntd' as equation 17 is printed: entries c ≠ y of the full softmaxes, not renormalised
    literal: bool = False

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss so far + λ Σ_j α_j D_j."""
        teacher, student = b.ref[0], b.logits
        apart = self._divergence(teacher / self.tau, student / self.tau, b.y)
        return value + self.lam * (self._alpha(teacher, b, t) * apart).sum()

    def log_alpha(self, teacher: Tensor, p: Tensor) -> Tensor:
        """Log α̂ (B,) of the teacher's logits and the labels' shares p: −H − log p (equation 10)."""
        if self.weights == "uniform":
            return torch.zeros_like(teacher[:, 0])
        H = ops.entropy(teacher / (self.tau if self.entropy == "tempered" else 1))
        return -self.entropy_power * H - self.share_power * p.log()

    def cost(self, size: Sizes) -> Cost:
        """The teacher's forward pass."""
        return Cost(forward=1, teachers=1)

    def _alpha(self, teacher: Tensor, b: Batch, t: Turn) -> Tensor:
        """α (B,), equations 9 to 12: a softmax of log α̂ over the batch's real samples."""
        scores = self.log_alpha(teacher, t.labels[b.y] / t.n)
        if b.mask is not None:
            scores = scores.where(b.mask > 0, torch.finfo(scores.dtype).min)
        return scores.softmax(0)

    def _divergence(self, g: Tensor, z: Tensor, y: Tensor) -> Tensor:
        """D between the teacher's logits g and the student's z, both tempered (B,)."""
        if self.divergence == "reverse":
            return ops.kl(z, g)
        if self.divergence == "js":
            middle = torch.logaddexp(g.log_softmax(-1), z.log_softmax(-1))  # log 2M; `kl` halves it
            return (ops.kl(g, middle) + ops.kl(z, middle)) / 2
        if self.divergence == "ntd" and self.literal:
            a, b = g.log_softmax(-1), z.log_softmax(-1)
            return ops.without_true(a.exp() * (a - b), y).sum(-1)
        if self.divergence == "ntd":
            return ops.kl(ops.without_true(g, y), ops.without_true(z, y))
        return ops.kl(g, z)
