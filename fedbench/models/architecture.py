"""The base of every model, a body and a head, and the projection head between them."""

import copy
from abc import ABC, abstractmethod
from pathlib import Path

from torch import Tensor, nn

from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs


class Architecture(Checked, ABC):
    """Options of a model; a built module has children `body` (features) and `head` (classifier)."""

    @abstractmethod
    def build(self, inputs: Inputs) -> nn.Module:
        """The module for such data; raises `FedbenchError` if it cannot be built for them."""

    def load(self, module: nn.Module, folder: Path) -> None:
        """Put published weights into a module that `build` made, where the options ask for them.

        folder: the data folder, in which the weights lie. Models without published weights do not
        override this. Raises `FedbenchError` if the file is missing, damaged or of other sizes.
        """


class BodyHead(nn.Module):
    """logits = head(body(x)); parts that look at features or at the classifier rely on it.

    `ends_hidden`: the body ends in the hidden layer of a classifier of two layers, not in features
    of its own, so that a projection head needs no other hidden layer.
    """

    def __init__(self, body: nn.Module, head: nn.Module, ends_hidden: bool = False) -> None:
        super().__init__()
        self.body, self.head, self.ends_hidden = body, head, ends_hidden

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C)."""
        logits: Tensor = self.head(self.body(x))
        return logits


def with_projection(module: nn.Module, width: int, classes: int, example: Tensor) -> nn.Module:
    """Features → features, ReLU → `width` → classifier (MOON, FedGKD+).

    A body that ends in such a layer of its own (`ends_hidden`) gets the rest: `width` → classifier.
    The features of the result are the projection (B, width); the classifier sits on top of it and
    stays there at inference. `example` (1, …) is one prepared sample, to measure the features.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError("projection: the model has no body and head to put it between")
    size = copy.deepcopy(body).eval()(example).shape[1]
    own = getattr(module, "ends_hidden", False)
    hidden = [] if own else [nn.Linear(size, size), nn.ReLU()]
    head = nn.Sequential(*hidden, nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, classes))
