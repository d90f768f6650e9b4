"""FedNTD: distillation from the global model on all classes but the true one."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from fedbench.base.checks import NonNegative, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class FedNTD(Part):
    """Add β τ² KL(q̃_g ‖ q̃_y), q̃ the softmax at τ over the C−1 other classes.

    Lee et al., "Preservation of the Global Knowledge by Not-True Distillation in Federated
    Learning", NeurIPS 2022. "Other" are the classes that are not the sample's label. The FedADC
    paper runs the first version, FedLS-NTD: {beta: 0.3, mix: convex}. The ASD paper's FedNTD is
    the part asd: {divergence: ntd, weights: uniform}.
    """

    needs_classes = True

    beta: NonNegative = 1.0  # 0 is FedAvg
    tau: Positive = 1.0
    mix: Literal["add", "convex"] = "add"  # convex: (1−β) CE + β τ² KL, the 2021 version
    scale_tau: bool = True  # the factor τ²

    excludes: ClassVar[dict[str, str]] = {
        "asd": "ASD weights the same term; write asd: {divergence: ntd} alone (ASD paper, A.12)"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mix == "convex" and self.beta > 1:
            raise FedbenchError(f"FedNTD: beta = {self.beta} must be ≤ 1 with mix 'convex'")

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + β τ² KL."""
        g, z = (ops.without_true(z / self.tau, b.y) for z in (b.ref[0], b.logits))
        divergence = ops.kl(g, z, 1).mean() * (self.tau**2 if self.scale_tau else 1)
        ce_weight = 1 - self.beta if self.mix == "convex" else 1
        return ce_weight * value + self.beta * divergence

    def cost(self, size: Sizes) -> Cost:
        """The teacher's forward pass."""
        return Cost(forward=1, teachers=1)
