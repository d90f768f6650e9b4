"""Puts a run together: data, partition, model, parts, and what trains and scores them."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from fedbench import losses, registry, seeds
from fedbench.combine import refuse_conflicts
from fedbench.data.dataset import Dataset
from fedbench.data.folder import data_folder
from fedbench.errors import FedbenchError, unknown
from fedbench.evaluate import Scorer
from fedbench.flat import Model, Net
from fedbench.local import Loss, Task
from fedbench.optimisers import SGD, Adam, Optimiser
from fedbench.part import Fed, Part
from fedbench.sampler import Sampler, cohort_size
from fedbench.shares import Rows, check_partition, draw_partition, hold_out
from fedbench.spec import RunSpec
from fedbench.tensors import images, preparation, targets


class Objects(TypedDict, total=False):
    """Objects given in place of what the spec names, for problems worked by hand."""

    data: Dataset
    model: nn.Module
    partition: Rows
    parts: tuple[Part, ...]
    loss: Loss


@dataclass(frozen=True)
class Problem:
    """Everything a run needs that no round changes; `rows[i]` are client i's samples."""

    spec: RunSpec
    identity: RunSpec  # the spec that names the run: before its search, if there was one
    data: Dataset
    fed: Fed
    task: Task
    rows: list[Tensor]
    sampler: Sampler
    scorers: dict[str, Scorer]

    @property
    def device(self) -> torch.device:
        """Where the data lie."""
        return self.task.x.device

    def validate(self, model: Model) -> float:
        """A model's mean loss on the held-out training data."""
        if "val_" not in self.scorers:
            raise FedbenchError("validation = 0: a part needs held-out data; set validation > 0")
        return self.scorers["val_"](model)["loss"]


def assemble(spec: RunSpec, objects: Objects, device: torch.device, folder: Path | None) -> Problem:
    """The problem that `spec` describes; raises `FedbenchError` before any training starts."""
    dtype = torch.float32 if spec.precision == "float32" else torch.float64
    refuse_unknown(objects)
    data = objects.get("data") or load_data(spec, folder)
    parts = objects["parts"] if "parts" in objects else build_parts(spec)
    refuse_conflicts(parts)
    train, held_out = hold_out(data, spec)
    rows = objects["partition"] if "partition" in objects else draw_partition(data, train, spec)
    check_partition(rows, len(data.y_train), spec.clients, held_out)
    model = copy.deepcopy(objects["model"]) if "model" in objects else build_model(spec, data)
    net = Net(model.to(device, dtype))
    loss = objects.get("loss") or (
        losses.cross_entropy if data.classes else losses.half_squared_error
    )
    prepare = preparation(data, spec, device, dtype)
    x, y = images(data.x_train, device), targets(data.y_train, device, dtype)
    task = Task(net, parts, loss, optimiser(spec), spec.weight_decay, spec.clip, x, y, prepare)
    test = images(data.x_test, device), targets(data.y_test, device, dtype)
    scorers = {"": Scorer(net, *test, data.classes, loss, prepare)}
    if len(held_out):
        chosen = torch.as_tensor(held_out, device=device)
        scorers["val_"] = Scorer(net, x[chosen], y[chosen], data.classes, loss, prepare)
    tensors = [torch.as_tensor(r, dtype=torch.long) for r in rows]
    fed = constants(spec, data, rows, net, device, dtype)
    sampler: Sampler = registry.build("sampler", spec.sampler.name, spec.sampler.params)
    return Problem(spec, spec, data, fed, task, tensors, sampler, scorers)


def check_choices(specs: Iterable[RunSpec]) -> None:
    """Build everything that the specs name, so that a bad value is refused before any training."""
    seen: set[str] = set()
    for spec in specs:
        chosen = {
            kind: getattr(spec, kind) for kind in ("dataset", "model", "partition", "sampler")
        }
        for kind, choice in chosen.items():
            if f"{kind} {choice}" not in seen:
                registry.build(kind, choice.name, choice.params)
                seen.add(f"{kind} {choice}")
        refuse_conflicts(build_parts(spec))
        optimiser(spec)


def refuse_unknown(objects: Objects) -> None:
    """Raise `FedbenchError` on an object that nothing would use."""
    for name in objects:
        if name not in Objects.__annotations__:
            raise unknown("object", name, Objects.__annotations__)


def load_data(spec: RunSpec, folder: Path | None) -> Dataset:
    """The data set that the spec names."""
    source = registry.build("dataset", spec.dataset.name, spec.dataset.params)
    found: Dataset = source.load(data_folder(folder))
    return found


def build_parts(spec: RunSpec) -> tuple[Part, ...]:
    """The parts that the spec lists, in order."""
    return tuple(registry.build("method", part.name, part.params) for part in spec.parts)


def build_model(spec: RunSpec, data: Dataset) -> nn.Module:
    """A freshly initialised model; its weights depend on the seed alone."""
    architecture = registry.build("model", spec.model.name, spec.model.params)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.number(spec.seed, seeds.ALWAYS, seeds.EVERYONE, "model"))
        module: nn.Module = architecture.build(data.shape, data.classes)
    return module


def optimiser(spec: RunSpec) -> Optimiser:
    """The local optimiser."""
    if spec.optimizer == "adam":
        return Adam(*spec.betas, spec.eps, spec.weight_decay)
    return SGD(spec.momentum, spec.dampening, spec.nesterov, spec.weight_decay)


def constants(
    spec: RunSpec, data: Dataset, rows: Rows, net: Net, device: torch.device, dtype: torch.dtype
) -> Fed:
    """The federation's constants as the parts see them."""
    width = max(data.classes, 1)
    labels = (
        data.y_train.astype(np.int64) if data.classes else np.zeros(len(data.y_train), np.int64)
    )
    counts = np.stack([np.bincount(labels[r], minlength=width) for r in rows])
    return Fed(
        K=spec.clients,
        m=cohort_size(spec.clients, spec.participation),
        classes=data.classes,
        d=net.d,
        n=torch.tensor([len(r) for r in rows], dtype=dtype, device=device),
        labels=torch.tensor(counts, dtype=dtype, device=device),
        lr=spec.lr,
        rounds=spec.rounds,
        net=net,
        start=net.start(),
    )
