"""Base of the models: a frozen dataclass of options that builds a module for given data."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from fedbench.base.checked import Checked
from fedbench.data.dataset import Inputs


class Architecture(Checked, ABC):
    """Options of a model; a built module has children `body` (features) and `head` (classifier)."""

    @abstractmethod
    def build(self, inputs: Inputs) -> nn.Module:
        """The module for such data; raises `FedbenchError` if it cannot be built for them."""


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
