"""The base of every model: a body with a head, and weights that are drawn or published."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists
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
            outwards = isinstance(layer, nn.Conv2d)
            nn.init.kaiming_normal_(layer.weight, 0, "fan_out" if outwards else "fan_in", "relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def with_projection(module: nn.Module, width: int, inputs: Inputs) -> nn.Module:
    """Put a projection of `width` units, the new features, before the classifier (MOON, FedGKD+).

    Before it is a hidden layer, unless the body ends in one.
    """
    body = getattr(module, "body", None)
    if not isinstance(body, nn.Module):
        raise FedbenchError("projection: the model has no children `body` and `head`")
    shape, words = (1, *inputs.shape), inputs.vocabulary
    example = torch.full(shape, words - 1) if words else torch.zeros(shape)  # 0 is no word
    size = copy.deepcopy(body).eval()(example).shape[1]
    has_hidden = getattr(module, "ends_hidden", False)
    hidden = [] if has_hidden else [nn.Linear(size, size), nn.ReLU()]
    head = nn.Sequential(*hidden, nn.Linear(size, width))
    return BodyHead(nn.Sequential(body, head), nn.Linear(width, inputs.outputs))


def read_checkpoint(
    file: Path, prefix: str, wanted: Mapping[str, Tensor], besides: tuple[str, ...] = ()
) -> dict[str, Tensor]:
    """The `wanted` tensors of a file, where all have a prefix, but for those named `besides`."""
    if not exists(file):
        raise FedbenchError(
            f"{file} is not there; put the published weights there (--data-dir or FEDBENCH_DATA "
            "names the data folder), or use weights = 'random'"
        )
    remedy = "put a sound one in its place, or use weights = 'random'"
    with failing(f"{file}: not a readable safetensors file", remedy):
        whole = load_file(file)
    own = [name for name in whole if name.startswith(prefix) and not name.startswith(besides)]
    tensors = {name.removeprefix(prefix): whole[name] for name in own}
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    needed = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    differ = sorted({name for name, _ in shapes.items() ^ needed.items()})
    if differ:
        found, asked = (each.get(differ[0], "missing") for each in (shapes, needed))
        raise FedbenchError(
            f"{file}: the shape of {prefix}{differ[0]} is {found} in the file and {asked} in the "
            f"model of this run, and {len(differ) - 1} other tensors differ; use the checkpoint's "
            "sizes and vocabulary, or weights = 'random'"
        )
    return tensors
