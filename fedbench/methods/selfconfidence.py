"""Self-confidence distillation: FedADC+'s loss, to be added to FedADC or any base method."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional as F

from fedbench.base.checks import Fraction, Positive
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class SelfConfidence(Part):
    """Distil classes of which the client has few samples: (1−λ) CE + λ KL(p̂ ‖ softmax(z/τ)).

    p̂_c = (1 − ρ_c) p̃_c for c ≠ y, p̂_y = 1 − Σ_{c≠y} p̂_c, p̃ the teacher's softmax at τ, ρ_c =
    γ_c / max γ, γ_c the share of class c in the client's data. 1−λ multiplies the whole loss of the
    parts before. Ozfatura et al., "FedADC: Accelerated Federated Learning with Drift Control",
    section III, equations 7 to 9.
    """

    needs_classes = True

    lam: Fraction = 0.35  # 0 is the base method
    # Not in the paper. Its sentence that on balanced data the loss is CE holds with 1 only; grid
    # {1, 2, 4}
    tau: Positive = 1.0
    scale_tau: bool = False  # the factor τ² of the code that the paper follows (Yun et al. 2020)
    # Whose p̃: the text has "forgetting of global model", equation 8 the local model's θ
    teacher: Literal["global", "self"] = "global"

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """Equation 7."""
        z = b.ref[0] if self.teacher == "global" else b.logits.detach()
        p = (z / self.tau).softmax(-1)
        lost = t.labels / t.labels.max() * p  # each class c loses ρ_c p̃_c, which y gains
        target = p - lost + ops.is_true(p, b.y) * lost.sum(-1, keepdim=True)
        student = (b.logits / self.tau).log_softmax(-1)
        divergence = F.kl_div(student, target, reduction="none").sum(-1).mean()
        scale = self.tau**2 if self.scale_tau else 1
        return (1 - self.lam) * value + self.lam * scale * divergence

    def cost(self, size: Sizes) -> Cost:
        """The teacher's forward pass, if the teacher is the global model."""
        passes = float(self.teacher == "global")
        return Cost(forward=passes, teachers=passes)
