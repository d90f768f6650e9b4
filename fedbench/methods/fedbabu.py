"""FedBABU: the body alone is trained and averaged; the head stays as it was drawn."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Gradient, Turn


@dataclass(frozen=True)
class FedBABU(Part):
    """Local steps move the body, and the head stays x_0's: its gradient and its steps are 0.

    Oh, Kim & Yun, "FedBABU: Toward Enhanced Representation for Federated Image Classification",
    ICLR 2022, algorithm 1. Neither weight decay nor clipping sees the head. What is scored is the
    global model (the paper's accuracy before fine-tuning); the paper then fine-tunes it at each
    client, which is no part of the training. The head need not be sent, but it is counted. The
    released code averages clients all alike, the paper by their samples: the run's `weights`.
    """

    needs_head = True
    excludes: ClassVar[dict[str, str]] = {
        "fedrep": "FedRep trains the heads that FedBABU leaves as they were drawn",
        "fedgen": "FedGen's term has a gradient at the head alone, which FedBABU does not train",
    }

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The client starts from the global model, whose head is that of x_0."""
        t.scratch["head"] = t.fed.net.head_mask().to(w.device)
        return w

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient of the body."""
        return inner(w).masked_fill(t.scratch["head"], 0)

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The step of the body, without the weight decay of the head."""
        return step.masked_fill(t.scratch["head"], 0)

    def cost(self, size: Sizes) -> Cost:
        """Nothing is sent, stored or passed beside FedAvg's."""
        return Cost(ops_step=2)
