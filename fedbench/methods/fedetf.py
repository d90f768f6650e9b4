"""FedETF: the head stands still at vectors as far apart as they can be."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.checks import NonNegative, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.part import Cost, Sizes
from fedbench.core.round_data import Batch, Federation, Round, State, Turn
from fedbench.methods.fedbabu import FedBABU


@dataclass(frozen=True)
class FedETF(FedBABU):
    """Train with the logits β ⟨v_c, h⟩/‖h‖ + γ log n_c; the v_c are fixed, β is trained too.

    h are the projected features, n_c the client's samples of class c, and the v_c a simplex
    equiangular tight frame: of length 1, all with the products −1/(C − 1). The paper turns it at
    random; here it is the one nearest to x_0's head, which the seed draws. Li et al., "No Fear of
    Classifier Biases: Neural Collapse Inspired Federated Learning with Synthetic and Fixed
    Classifier", ICCV 2023, without the fine-tuning that follows the training. What is scored has
    the v_c as its head and no bias, and ranks classes as their angles with h do. In the released
    code β starts at 1, or at 10 in two networks, and has momentum and weight decay like a weight.
    """

    needs_classes = True
    # Deviation: the paper's projection is one layer; a run's has a hidden one too, unless the body
    # ends in one
    needs_projection = True
    starts_elsewhere = True
    sends = True  # β
    shares = "each client's β"
    excludes: ClassVar[dict[str, str]] = {
        "fedrep": "FedRep trains the heads that FedETF keeps at its frame",
        "fedbabu": "FedBABU keeps the head that was drawn, and FedETF its frame",
        "fedgen": "FedGen's term has a gradient at the head alone, which FedETF does not train",
        "fedexp": "FedExP compares the updates' lengths, of which the way to the frame is a part",
    }
    follows = dict.fromkeys(
        (
            *("fedacg", "fedadagrad", "fedadam", "fedadc", "fedadcdouble", "feddf", "feddyn"),
            *("fedsmoo", "fedspeed", "fedvarp", "fedyogi", "slowmo", "twosided"),
        ),
        "FedETF puts the frame into the global head, which no later part may change",
    )

    beta: Positive = 1.0  # β before the first round
    gamma: NonNegative = 1.0  # γ; 0 is cross-entropy without the clients' shares
    # Deviation: n_c of a class that the client lacks, as released; 0 in the paper, whose log is −∞
    floor: Positive = 1.0

    def server(self, w: Tensor, fed: Federation) -> State:
        """β; raises `FedbenchError` if the head is no such layer or too narrow for the frame."""
        _frame(fed)
        return {"beta": w.new_tensor(self.beta)}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The global model with the frame as its head."""
        t.scratch["head"] = t.fed.net.head_mask().to(w.device)
        t.scratch |= {"v": _frame(t.fed), "beta": t.msg["beta"]}
        t.scratch["prior"] = self.gamma * t.labels.clamp(min=self.floor).log()
        return _framed(w, t.fed)

    def logits(self, z: Tensor, b: Batch, t: Turn) -> Tensor:
        """β z/‖h‖ + γ log n, where z are the products with the frame."""
        length: Tensor = b.features.norm(dim=-1, keepdim=True).clamp(min=1e-12)
        return t.scratch["beta"] * z / length + t.scratch["prior"]

    def after(self, b: Batch, t: Turn) -> None:
        """A step of β, with its gradient at the weights before the step."""
        # Deviation: the step is plain SGD's, whatever the run's optimiser
        cosines = F.normalize(b.features) @ t.scratch["v"].T
        beta = t.scratch["beta"].detach().requires_grad_()
        with torch.enable_grad():
            value = b.criterion(beta * cosines + t.scratch["prior"], b.y).mean()
        t.scratch["beta"] = beta.detach() - t.lr * torch.autograd.grad(value, beta)[0]

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload β."""
        t.upload["beta"] = t.scratch["beta"]
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """β is the mean of the clients', and the global head is the frame, whatever d says."""
        r.state["beta"] = r.mean("beta")
        head = r.fed.net.head_mask().to(d.device)
        return torch.where(head, r.w - _framed(r.w, r.fed), d)

    def cost(self, size: Sizes) -> Cost:
        """One number is sent each way, and stored at the server."""
        return Cost(down=1, up=1, server_memory=1, ops_begin=1, ops_step=2, ops_server=2)


def _frame(fed: Federation) -> Tensor:
    """The v_c (C, F): √(C/(C−1)) times the partial isometry nearest to x_0's centred head."""
    C, width = fed.classes, fed.net.features
    head = fed.start.w[fed.net.head_mask().to(fed.start.w.device)]
    if len(head) not in (C * width, C * width + C) or not width >= C - 1:
        raise FedbenchError(
            f"FedETF needs a head that is one linear layer of at least C − 1 = {C - 1} features; "
            f"this one has {width}"
        )
    w = head[: C * width].view(C, width).double()
    left, _, right = torch.linalg.svd(w - w.mean(0), full_matrices=False)
    v: Tensor = (C / (C - 1)) ** 0.5 * left[:, : C - 1] @ right[: C - 1]
    return v.to(head.dtype)


def _framed(w: Tensor, fed: Federation) -> Tensor:
    """These weights with the frame as their head, and no bias."""
    head, v = fed.net.head_mask().to(w.device), _frame(fed).flatten()
    return w.masked_scatter(head, F.pad(v, (0, fed.classes)))  # more than a head without a bias has
