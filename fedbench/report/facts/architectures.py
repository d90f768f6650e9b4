"""Layers of the models."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedbench.base import registry
from fedbench.report.tables.fact import Fact, Source, constant, network
from fedbench.report.tables.sheet import Column, Row, Sheet
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from torch import nn

# Layers in the paper's words, by what they are in torch.
_WORDS = {
    "Conv2d": "ConvLayer({in_channels},{out_channels},{kernel_size[0]})",
    "Linear": "FullyConnected({in_features},{out_features})",
    "GroupNorm": "GroupNorm({num_groups},{num_channels})",
    "MaxPool2": "MaxPool({kernel_size},{stride})",
    "ReLU": "Relu",
}


@dataclass(frozen=True)
class Architectures(Fact):
    """Layers, output shapes and parameters of built models (ASD paper, Table 5).

    `rows` are levels of the axis `dataset`.
    """

    rows: tuple[str, ...]

    def sheet(self, source: Source) -> Sheet:
        """A group of rows a model, its total last."""
        found = [row for name in self.rows for row in _model(name, source.run({"dataset": name}))]
        note = "Built without data; an output is channels × height × width, or units."
        return Sheet("Layer", (Column("Output"), Column("Parameters")), tuple(found), note)


def _model(name: str, run: RunSpec) -> list[Row]:
    import torch

    module = network(run)
    group = f"{registry.find('model', run.model.name).attribute}, {name}"
    layers = _layers(module, torch.empty(1, *constant(run, "SHAPE"), device="meta"))
    total = sum(value.numel() for value in module.parameters())
    rows = [Row(text, (shape, size), group) for text, shape, size in layers]
    return [*rows, Row("All", (None, total), group)]


def _layers(module: "nn.Module", x: Any) -> list[tuple[str, str, int]]:
    """Leaf layers in the order in which they are called."""
    found: list[tuple[str, str, int]] = []

    def note(layer: "nn.Module", _: Any, output: Any) -> None:
        size = sum(value.numel() for value in layer.parameters())
        found.append((_words(layer), " × ".join(map(str, output.shape[1:])), size))

    leaves = [layer for layer in module.modules() if not list(layer.children())]
    for layer in leaves:
        if type(layer).__name__ != "Identity":
            layer.register_forward_hook(note)
    module(x)
    return found


def _words(layer: "nn.Module") -> str:
    kind = type(layer).__name__
    return _WORDS.get(kind, kind).format(**vars(layer))
