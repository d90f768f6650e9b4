"""FedRS: smaller logits, in training, for classes that a client does not have."""

from dataclasses import dataclass

from torch import Tensor

from fedbench.base.checks import Fraction
from fedbench.core.part import Part
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class FedRS(Part):
    """In training, multiply the logits of classes that the client does not have by α.

    Li & Zhan, "FedRS: Federated Learning with Restricted Softmax for Label Distribution Non-IID
    Data", KDD 2021. Deviation: the bias is scaled too, as the FedADC paper says ("predictions … are
    scaled"); the original's classifier has no bias.
    """

    needs_classes = True

    alpha: Fraction = 0.5  # 1 is FedAvg
    # The factor of a re-implementation, for every class: (share / largest share) (1−α) + α
    soft: bool = False

    def logits(self, z: Tensor, b: Batch, t: Turn) -> Tensor:
        """Logits z times one factor per class."""
        share = t.labels / t.labels.max() if self.soft else (t.labels > 0).to(z.dtype)
        return z * (1 - (1 - self.alpha) * (1 - share))
