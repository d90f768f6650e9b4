"""What follows from a paper's settings: sizes of data and clients, layers, weights of gradients."""

import math
from dataclasses import dataclass, field
from itertools import product
from statistics import median, median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbench.base import registry
from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.paper.yaml_notation import Level
from fedbench.report.tables.facts import Fact, FactRow, FactTable, PaperReader, Value
from fedbench.report.values.numbers import point_name
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from torch import nn

# The ASD paper's names of the layers, by their class in torch
_LAYERS = {
    "Conv2d": "ConvLayer({in_channels},{out_channels},{kernel_size[0]})",
    "Linear": "FullyConnected({in_features},{out_features})",
    "GroupNorm": "GroupNorm({num_groups},{num_channels})",
    "MaxPool2": "MaxPool({kernel_size},{stride})",
    "ReLU": "Relu",
}


def constant(run: RunSpec, name: str) -> Any:
    """What the run's data source says of itself, with its parameters; or `FedbenchError`."""
    source = run.dataset.build("dataset")
    found = source.samples() if name == "SAMPLES" else getattr(source, name, None)
    if name == "CLASSES":
        found = getattr(source, "classes", found)
    if found is None:
        raise FedbenchError(f"data set '{run.dataset.name}' declares no {name}")
    return found


def _client_sizes(run: RunSpec) -> tuple[int, list[int]]:
    """How many training samples are not held out, and how many each client has, in rising order."""
    from fedbench.data.dataset import Dataset
    from fedbench.data.partition import divide  # only here, as it loads torch

    # no data are read: as many labels as the source declares, each class equally frequent
    classes, samples = constant(run, "CLASSES"), constant(run, "SAMPLES")[0]
    labels, empty = np.arange(samples) % classes, np.zeros((samples, 1), dtype=np.float32)
    data = Dataset(run.dataset.name, empty, labels, empty[:1], labels[:1], classes)
    rule = run.partition.build("partition")
    train, _, rows = divide(data, rule, run.validation, run.clients, run.partition_seed)
    return len(train), sorted(len(of_client) for of_client in rows)


def network(run: RunSpec) -> "nn.Module":
    """The run's network on the meta device: shapes without weights; imports torch."""
    import torch

    from fedbench.data.dataset import Inputs

    inputs = Inputs(tuple(constant(run, "SHAPE")), constant(run, "CLASSES"))
    with torch.device("meta"):
        module: nn.Module = run.model.build("model").build(inputs)
    return module.eval()


@dataclass(frozen=True)
class Datasets(Fact):
    """Samples for training and test, classes, clients and what each has (FedGKD paper, Table 2)."""

    rows: tuple[str, ...]  # levels of the axis `dataset`
    at: dict[str, Level] = field(default_factory=dict)  # levels of other axes: {alpha: 0.1}

    def table(self, reader: PaperReader) -> FactTable:
        """Printed numbers beside those counted here."""
        printed = ("Training samples", "Classes", "Clients")
        columns = {
            "Printed in the paper": printed,
            "Counted here": (*printed, "Test samples", "Samples per client"),
        }
        note = (
            "Counted here by dividing as many labels as the data set has among the clients, each "
            "class equally frequent."
        )
        rows = []
        for name in self.rows:
            run = reader.run({"dataset": name, **self.at})
            numbers = [reader.number(name, x) for x in ("train_size", "classes", "clients")]
            train, sizes = _client_sizes(run)
            ends = dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))
            counted = (train, constant(run, "CLASSES"), run.clients, constant(run, "SAMPLES")[1])
            told = (None if x is None else int(x) for x in numbers)
            rows.append(FactRow(name, (*told, *counted, " to ".join(ends))))
        return FactTable("Data set", columns, rows, note)


@dataclass(frozen=True)
class Architectures(Fact):
    """Layers of the models with output shapes and numbers of parameters (ASD paper, Table 5)."""

    rows: tuple[str, ...]  # levels of the axis `dataset`, one model each

    def table(self, reader: PaperReader) -> FactTable:
        """One group of rows per model: its layers in the order of their calls, its total last."""
        import torch

        note = "Counted on the models built here. An output is channels × height × width, or units."
        rows: list[FactRow] = []
        for name in self.rows:
            run = reader.run({"dataset": name})
            module = network(run)
            group = f"{registry.find('model', run.model.name).attribute}, {name}"

            def note_layer(layer: "nn.Module", _: Any, output: Any, group: str = group) -> None:
                kind, size = type(layer).__name__, sum(x.numel() for x in layer.parameters())
                text = _LAYERS.get(kind, kind).format(**vars(layer))
                rows.append(FactRow(text, (" × ".join(map(str, output.shape[1:])), size), group))

            for layer in module.modules():
                if not list(layer.children()) and type(layer).__name__ != "Identity":
                    layer.register_forward_hook(note_layer)
            module(torch.empty(1, *constant(run, "SHAPE"), device="meta"))
            total = sum(value.numel() for value in module.parameters())
            rows.append(FactRow("All", (None, total), group))
        return FactTable("Layer", {"": ("Output", "Parameters")}, rows, note)


@dataclass(frozen=True)
class Momentum(Fact):
    """Weights of gradients in the momentum of MFL and of RMFL's readings (RMFL paper, equation 3).

    `rows` are levels of the axis `dataset`, `levels` those of the axis `axis`, and each pair has a
    row. β is that of the method named RMFL in the paper's file; `readings` are values of its field
    `reading`; sizes of clients are a median over `seeds` partitions.
    """

    rows: tuple[str, ...]
    levels: tuple[Level, ...]
    axis: str = "alpha"
    readings: tuple[str, ...] = ("r1", "lit", "r2")
    seeds: Count = 10

    def table(self, reader: PaperReader) -> FactTable:
        """One row per setting, under its data set."""
        groups = ("MFL", *(f"RMFL, {name.upper()}" for name in self.readings))
        weights = dict.fromkeys(groups, ("first", "last", "all"))
        columns = {"": ("Samples per client", "H"), **weights}
        note = (
            "H is the number of local steps of a client with the median number of samples, a "
            "median over the seeds; samples are counted by dividing as many labels as the data set "
            "has among the clients, each class equally frequent. In the momentum that a client "
            "uploads, first and last are the weights of its first and its last gradient; all is "
            "the sum of the weights, that of the inherited momentum included."
        )
        beta = reader.parts("method", "RMFL")[0].beta
        params = [{"beta": beta, "reading": reading} for reading in self.readings]
        parts = [registry.build("method", "rmfl", each) for each in params]
        rows = []
        for name, level in product(self.rows, self.levels):
            run = reader.run({"dataset": name, self.axis: level})
            sizes = [median(_client_sizes(run.changed(seed=seed))[1]) for seed in range(self.seeds)]
            batches = (math.ceil(size / (run.batch or size)) for size in sizes)
            H = median_low([run.steps or (run.epochs or 1) * number for number in batches])
            usual = (beta**H, [beta ** (H - 1 - k) for k in range(H)])
            sums = [(g[0], g[-1], v + sum(g)) for v, g in (usual, *(p.weights(H) for p in parts))]
            cells = [f"{x:.3f}" for weights in sums for x in weights]
            values: tuple[Value, ...] = (round(median(sizes)), H, *cells)
            rows.append(FactRow(point_name(self.axis, level), values, name))
        return FactTable("Setting", columns, rows, note)
