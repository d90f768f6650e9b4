"""The base of every model: a body that gives features, a head that classifies them."""

import copy
from abc import ABC, abstractmethod
from pathlib import Path

from torch import Tensor, nn

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs


class Architecture(Checked, ABC):
    """The options of a model, and how to build it: a module with the children `body` and `head`."""

    @abstractmethod
    def build(self, inputs: Inputs) -> nn.Module:
        """The module for samples of this shape; raises `FedbenchError` if they do not fit it."""

    def load(self, module: nn.Module, folder: Path) -> None:
        """Put published weights into a module that `build` made, where the options ask for them.

        folder: the data folder, in which the weights lie. Models without published weights do not
        override this. Raises `FedbenchError` if the file is missing, damaged or of other sizes.
        """


class BodyHead(nn.Module):
    """A module with logits = head(body(x)), where body(x) are the features.

    `ends_hidden` says that the last layer of the body is already the hidden layer of a classifier
    of two layers, so that a projection head needs no other hidden layer.
    """

    layerwise = True  # see `core/stacked`

    def __init__(self, body: nn.Module, head: nn.Module, ends_hidden: bool = False) -> None:
        super().__init__()
        self.body, self.head, self.ends_hidden = body, head, ends_hidden

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C)."""
        logits: Tensor = self.head(self.body(x))
        return logits


def with_projection(module: nn.Module, width: int, classes: int, example: Tensor) -> nn.Module:
    """Put a projection head between body and classifier (MOON, FedGKD+).

    It is a hidden layer as wide as the features, unless the body ends in one, with ReLU, and a
    layer of `width` units: the new features. `example` (1, …) is one prepared sample.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError(
            "projection: the model has no children `body` and `head` to put a projection between"
        )
    size = copy.deepcopy(body).eval()(example).shape[1]
    has_hidden = getattr(module, "ends_hidden", False)
    hidden = [] if has_hidden else [nn.Linear(size, size), nn.ReLU()]
    head = nn.Sequential(*hidden, nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, classes))
