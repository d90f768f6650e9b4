"""The base of every model: a body that gives features, a head that classifies them."""

import copy
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Literal

from torch import Tensor, nn

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs

Fan = Literal["fan_in", "fan_out"]


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

    layerwise = True  # see `core/stacked_network`

    def __init__(self, body: nn.Module, head: nn.Module, ends_hidden: bool = False) -> None:
        super().__init__()
        self.body, self.head, self.ends_hidden = body, head, ends_hidden

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C)."""
        logits: Tensor = self.head(self.body(x))
        return logits


def draw_he_weights(module: nn.Module) -> None:
    """Draw He's normal weights, by fan out for convolutions as torchvision does; biases are 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            fan: Fan = "fan_out" if isinstance(layer, nn.Conv2d) else "fan_in"
            nn.init.kaiming_normal_(layer.weight, mode=fan, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def with_projection(module: nn.Module, width: int, classes: int, example: Tensor) -> nn.Module:
    """Put a projection of `width` units, the new features, before the classifier (MOON, FedGKD+).

    Before it is a hidden layer, unless the body ends in one; `example` (1, …): a prepared sample.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError("projection: the model has no children `body` and `head`")
    size = copy.deepcopy(body).eval()(example).shape[1]
    has_hidden = getattr(module, "ends_hidden", False)
    hidden = [] if has_hidden else [nn.Linear(size, size), nn.ReLU()]
    head = nn.Sequential(*hidden, nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, classes))
