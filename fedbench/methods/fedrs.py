"""FedRS: a restricted softmax for classes that a client does not have."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checked import Fraction
from fedbench.core.part import Part
from fedbench.core.round import Batch, Turn


@dataclass(frozen=True)
class FedRS(Part):
    """While training, multiply the logits of absent classes by α; inference is unchanged.

    Li & Zhan, "FedRS: Federated Learning with Restricted Softmax for Label Distribution Non-IID
    Data", KDD 2021. Deviation: with a bias the whole logit is scaled, as the FedADC
    paper says ("predictions … are scaled"); the original's classifier has none.
    """

    alpha: Fraction = 0.5  # 1 is FedAvg
    # A re-implementation's factor for every class: (share / largest share) (1−α) + α
    soft: bool = False

    def logits(self, z: Tensor, b: Batch, t: Turn) -> Tensor:
        """z_c times one factor per class."""
        known = t.labels / t.labels.max() if self.soft else (t.labels > 0).to(z.dtype)
        return z * (1 - (1 - self.alpha) * (1 - known))
