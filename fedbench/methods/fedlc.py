"""FedLC: in training, classes of which a client has few samples get a wider margin."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.base.checks import NonNegative, Positive
from fedbench.core import ops
from fedbench.core.part import Part
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class FedLC(Part):
    """Take the cross-entropy of z_c − τ n_c^{−1/4}, n_c the client's samples of class c.

    Zhang, Li, Li, Xu, Wu, Ding & Wu, "Federated Learning with Label Distribution Skew via Logits
    Calibration", ICML 2022, the loss L_LC. Terms of other parts see the logits as they are. No code
    of the authors was found; re-implementations (FL-bench, and FedDecorr's authors) keep the true
    class in the sum, as here.
    """

    needs_classes = True
    excludes: ClassVar[dict[str, str]] = {
        "fedrs": "FedLC leaves out classes that a client does not have, whose logits FedRS scales"
    }
    precedes = dict.fromkeys(
        ("fedntd", "selfconfidence"),
        "it weighs the cross-entropy that FedLC puts another in place of",
    )

    tau: NonNegative = 1.0  # FL-bench's; FedDecorr's authors take 0.1. 0 is FedAvg
    # Deviation: the printed sum over classes leaves out the true one (`literal`). That loss has no
    # lower bound: it falls for ever as the true logit rises, also at τ = 0
    literal: bool = False
    # n_c of classes that the client does not have, of which the paper says nothing, as in FL-bench:
    # they drop out of the sum, as at n_c → 0
    absent: Positive = 1e-8

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss so far, with the calibrated loss in place of the run's."""
        if not (self.tau or self.literal):
            return value
        z = b.logits - self.tau * t.labels.clamp(min=self.absent) ** -0.25
        if self.literal:
            own = z.gather(-1, b.y[:, None])[:, 0]
            calibrated = ops.without_true(z, b.y).logsumexp(-1) - own
        else:
            calibrated = b.criterion(z, b.y)
        return value + (calibrated - b.criterion(b.logits, b.y)).mean()
