"""The layers of the models that a paper trains."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedbench.base import registry
from fedbench.report.tables.fact import Fact, PaperReader, constant, network
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from torch import nn

# The paper's names of the layers, by their class in torch.
_WORDS = {
    "Conv2d": "ConvLayer({in_channels},{out_channels},{kernel_size[0]})",
    "Linear": "FullyConnected({in_features},{out_features})",
    "GroupNorm": "GroupNorm({num_groups},{num_channels})",
    "MaxPool2": "MaxPool({kernel_size},{stride})",
    "ReLU": "Relu",
}


@dataclass(frozen=True)
class Architectures(Fact):
    """Layers of the models with output shapes and numbers of parameters (ASD paper, Table 5).

    `rows` are levels of the axis `dataset`, one model each.
    """

    rows: tuple[str, ...]

    def table(self, reader: PaperReader) -> FactTable:
        """One group of rows per model, its total last."""
        rows = [row for name in self.rows for row in _model(name, reader.run({"dataset": name}))]
        note = (
            "Counted on the models as built here. An output is channels × height × width, or units."
        )
        return FactTable(
            "Layer", (FactColumn("Output"), FactColumn("Parameters")), tuple(rows), note
        )


def _model(name: str, run: RunSpec) -> list[FactRow]:
    import torch

    module = network(run)
    group = f"{registry.find('model', run.model.name).attribute}, {name}"
    layers = _layers(module, torch.empty(1, *constant(run, "SHAPE"), device="meta"))
    total = sum(value.numel() for value in module.parameters())
    rows = [FactRow(text, (shape, size), group) for text, shape, size in layers]
    return [*rows, FactRow("All", (None, total), group)]


def _layers(module: "nn.Module", x: Any) -> list[tuple[str, str, int]]:
    """Layers that contain no other layer, in the order in which they are called."""
    called: list[tuple[str, str, int]] = []

    def note(layer: "nn.Module", _: Any, output: Any) -> None:
        size = sum(value.numel() for value in layer.parameters())
        called.append((_words(layer), " × ".join(map(str, output.shape[1:])), size))

    leaves = [layer for layer in module.modules() if not list(layer.children())]
    for layer in leaves:
        if type(layer).__name__ != "Identity":
            layer.register_forward_hook(note)
    module(x)
    return called


def _words(layer: "nn.Module") -> str:
    kind = type(layer).__name__
    return _WORDS.get(kind, kind).format(**vars(layer))
