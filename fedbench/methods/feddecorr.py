"""FedDecorr: local training keeps the features of a batch uncorrelated."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Part
from fedbench.core.round_data import Batch, Turn

_LEAST = 1e-8  # added to a variance, as released, since a feature may be constant in a batch


@dataclass(frozen=True)
class FedDecorr(Part):
    """Add (β/d²) ‖K‖_F² with the correlation matrix K (d, d) of a batch's features.

    Features are what the classifier gets. Shi, Liang, Zhang, Tan & Bai, "Towards Understanding and
    Mitigating Dimensional Collapse in Heterogeneous Federated Learning", ICLR 2023, the loss
    L_FedDecorr. The released code sums z-scores where the paper averages them: its term, of the
    entries beside the diagonal, is about as many times the printed one as a batch has samples
    (`times_batch`). A batch of one sample has no correlations, hence no term.
    """

    needs_head = True

    beta: NonNegative = 0.1  # 0 is FedAvg; the paper found its value with the released code
    # As released: ((B−1)²/B) Σ_{i≠j} K_ij²/(d² − d) in place of ‖K‖_F²/d², for B samples
    times_batch: bool = False

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss so far + β times the mean of K²."""
        z = b.features.flatten(1)
        B, d = z.shape
        z = z - z.mean(0)
        z = z / (z.square().mean(0) + _LEAST).sqrt()
        squares = (z.T @ z / B).square()
        if not self.times_batch:
            return value + self.beta * squares.mean()
        others = (squares.sum() - squares.diagonal().sum()) / max(d * d - d, 1)
        return value + self.beta * (B - 1) ** 2 / B * others
