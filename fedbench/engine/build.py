"""Builds what a run names: its partition, parts, sampler, work, model and local optimiser."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedbench.base import seeds
from fedbench.base.errors import at, called
from fedbench.core.conflicts import refuse_conflicts, refuse_optimiser
from fedbench.core.optimisers import SGD, Adam, Optimiser
from fedbench.core.part import Part
from fedbench.core.rng import seeded
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Partition
from fedbench.data.shares import Rows, draw_partition
from fedbench.data.shift import Shift
from fedbench.data.source import data_folder, load_data
from fedbench.engine.fit import require_room
from fedbench.models.architecture import Architecture, with_projection
from fedbench.sampling.sampler import Sampler
from fedbench.spec import RunSpec
from fedbench.work.work import Work


def data_of(spec: RunSpec, folder: Path | None) -> Dataset:
    """The data set that the spec names, in `folder`; draws of users' sources have one seed."""
    with seeded(0, torch.device("cpu"), users=True):
        return load_data(spec.dataset.name, spec.dataset.params, folder)


def partition_of(data: Dataset, train: NDArray[np.int64], spec: RunSpec) -> Rows:
    """Each client's training rows, dealt by the partition that the spec names."""
    rule: Partition = spec.partition.build("partition")
    number = seeds.number(spec.partition_seed, seeds.ALWAYS, seeds.EVERYONE, "users' partition")
    on_cpu = seeded(number, torch.device("cpu"), users=True)
    with called(f"partition '{spec.partition}'", str(rule)), on_cpu:
        return draw_partition(rule, data, train, spec.clients, spec.partition_seed)


def build_parts(spec: RunSpec) -> tuple[Part, ...]:
    """The parts that the spec lists, in order."""
    return tuple(part.build("method") for part in spec.parts)


def fitting_parts(spec: RunSpec, given: tuple[Part, ...] | None = None) -> tuple[Part, ...]:
    """The parts that are given or named; `FedbenchError` if they cannot train together."""
    parts = build_parts(spec) if given is None else given
    refuse_conflicts(parts)
    refuse_optimiser(parts, optimiser(spec))
    return parts


def build_sampler(spec: RunSpec, given: Sampler | None = None) -> Sampler:
    """The sampler that is given or named; `FedbenchError` if it does not fit the clients."""
    sampler: Sampler = spec.sampler.build("sampler") if given is None else given
    sampler.require(spec.clients, spec.participation)
    return sampler


def build_shifts(spec: RunSpec) -> tuple[Shift, ...]:
    """The shifts of clients' data that the spec lists, in order."""
    return tuple(shift.build("shift") for shift in spec.shift)


def build_work(spec: RunSpec, given: Work | None = None) -> Work:
    """The rule of local work that is given or named; `FedbenchError` if it does not fit."""
    work: Work = spec.work.build("work") if given is None else given
    work.require(spec.most)
    return work


def build_model(
    spec: RunSpec, data: Dataset, example: Tensor, folder: Path | None = None
) -> nn.Module:
    """A new model, whose random weights depend on the seed alone.

    Published weights are read from `folder`, or if it is None from the folder of `data_folder`.
    """
    architecture: Architecture = spec.model.build("model")
    require_room(str(spec.model), architecture, data.inputs)
    number = seeds.number(spec.seed, seeds.ALWAYS, seeds.EVERYONE, "model")
    with seeded(number, torch.device("cpu"), users=True):
        module: nn.Module = architecture.build(data.inputs)
        architecture.load(module, data_folder(folder))
        if spec.projection:
            module = with_projection(module, spec.projection, data.inputs.outputs, example)
    return module


def optimiser(spec: RunSpec) -> Optimiser:
    """The local optimiser that the spec names."""
    if spec.optimizer == "adam":
        return Adam(*spec.betas, spec.eps, spec.weight_decay)
    return SGD(spec.momentum, spec.dampening, spec.nesterov, spec.weight_decay)


def check_choices(specs: Iterable[tuple[str, RunSpec]]) -> None:
    """Build everything that the specs name; raises `FedbenchError` on a bad value.

    Each comes with the place where it is written, which the error names.
    """
    checked: set[str] = set()
    for place, spec in specs:
        with at(place):
            _check(spec, checked)


def _check(spec: RunSpec, checked: set[str]) -> None:
    for kind in ("dataset", "model", "partition"):
        choice = getattr(spec, kind)
        if f"{kind} {choice}" not in checked:
            choice.build(kind)
            checked.add(f"{kind} {choice}")
    fitting_parts(spec)
    build_sampler(spec)
    build_work(spec)
    build_shifts(spec)
    for probe in spec.watch:
        probe.build("probe")
