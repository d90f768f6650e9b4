"""Assembles a run from its settings, and from objects that are given in place of some."""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedbench.base.errors import at, called
from fedbench.core.flat_network import Net
from fedbench.core.local_optimisers import SGD, Adam, Optimiser
from fedbench.core.part import Part
from fedbench.core.part_conflicts import refuse_conflicts, refuse_optimiser
from fedbench.core.rng import CPU, seeded, seeded_for
from fedbench.core.round_data import Federation
from fedbench.core.tensors_on_disk import Spill
from fedbench.data import partition
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Indices, Partition
from fedbench.data.shift import Shifted, shifted
from fedbench.data.source import Source, data_folder
from fedbench.engine import model_checks
from fedbench.engine.given_objects import Identity, Objects, described, named
from fedbench.engine.machine import Machine, float32_by_default, same_bits_on
from fedbench.engine.preprocessing import images, laid_out, preparation, targets
from fedbench.engine.problem import LOSSES, LocalTask, OwnTest, Problem, Scorer, UsersCode
from fedbench.models.architecture import Architecture, with_projection
from fedbench.sampling.sampler import Sampler, cohort_size
from fedbench.spec import RunSpec
from fedbench.work.local_epochs import Work


@float32_by_default()
def assemble(spec: RunSpec, objects: Objects, machine: Machine, folder: Path | None) -> Problem:
    """The problem that `spec` describes; raises `FedbenchError` before any training starts."""
    spec, unnamed = named(spec, objects)
    device = same_bits_on(machine.torch_device())
    dtype = torch.float64 if spec.precision == "float64" else torch.float32
    data = objects.get("data") or data_of(spec, folder)
    parts, sampler, work = fitting(spec, objects)
    train, held_out = partition.hold_out(data, spec.validation, spec.partition_seed)
    rows = _rows(spec, objects, data, train, held_out)
    floats = preparation(data, spec, train, device, dtype)
    with seeded_for(spec.partition_seed, "users' shift"):
        seen = shifted(data, rows, [x.build("shift") for x in spec.shift], spec.partition_seed)
    x, y = images(seen.data.x_train, device), targets(seen.data.y_train, device, dtype)
    module, place = _model(spec, objects, data, floats(x[:1]), folder)
    net = Net(module.to(device, dtype), spec.precision == "bfloat16")
    prepare = laid_out(floats, net)
    two = prepare(x[:2])
    model_checks.refuse_misfit(net, data, two, place)
    model_checks.refuse_memory(net, two, place)
    model_checks.refuse_lone_samples(net, rows, spec.batch, two[:1], place)
    model_checks.refuse_missing(parts, spec, net)
    net.find_dropout(two)
    loss = objects.get("loss", LOSSES[data.classes > 0])
    if "loss" in objects:
        model_checks.refuse_mean(loss, net, two, y[:2])
    task = LocalTask(
        net=net, parts=parts, loss=loss, optimiser=optimiser(spec),
        clip=spec.clip, x=x, y=y, prepare=prepare,
        decays=None if spec.decay_norms else (~net.norm_mask()).to(device, dtype),
        crop=spec.augment.crop if spec.augment else 0,
        threads=machine.threads(), users=UsersCode(_users_act(spec, objects)),
    )  # fmt: skip
    return Problem(
        spec=spec, identity=Identity(spec, described(unnamed)), data=data, task=task,
        fed=_federation(spec, data, seen.counts, task, machine),
        rows=[torch.as_tensor(r, dtype=torch.long) for r in rows], label_counts=seen.counts,
        own_test=_own_test(task, seen), unused=partition.Unused.of(rows, len(train)),
        scorers=_scorers(task, data, held_out, spec), sampler=sampler, work=work,
    )  # fmt: skip


def data_of(spec: RunSpec, folder: Path | None) -> Dataset:
    """The data set that the spec names, in `folder`; draws of users' sources have one seed."""
    with seeded(0, CPU, users=True):
        source: Source = spec.dataset.build("dataset")
        return source.load(data_folder(folder))


def build_parts(spec: RunSpec) -> tuple[Part, ...]:
    """The parts that the spec lists, in order."""
    return tuple(part.build("method") for part in spec.parts)


def fitting(spec: RunSpec, objects: Objects) -> tuple[tuple[Part, ...], Sampler, Work]:
    """The parts, sampler and rule of local work, given or named; `FedbenchError` if unfit."""
    parts = objects["parts"] if "parts" in objects else build_parts(spec)
    refuse_conflicts(parts)
    refuse_optimiser(parts, optimiser(spec))
    sampler = objects["sampler"] if "sampler" in objects else spec.sampler.build("sampler")
    sampler.require(spec.clients, spec.participation)
    work = objects["work"] if "work" in objects else spec.work.build("work")
    work.require(spec.most)
    return parts, sampler, work


def optimiser(spec: RunSpec) -> Optimiser:
    """The local optimiser that the spec names."""
    if spec.optimizer == "adam":
        return Adam(*spec.betas, spec.eps, spec.weight_decay)
    return SGD(spec.momentum, spec.dampening, spec.nesterov, spec.weight_decay)


def check_choices(specs: Iterable[tuple[str, RunSpec]]) -> None:
    """Build all that each spec names; raises `FedbenchError` with its place on a bad value."""
    built: set[str] = set()
    for place, spec in specs:
        with at(place):
            for kind, choice in spec.choices():
                if f"{kind} {choice}" not in built:
                    choice.build(kind)
                    built.add(f"{kind} {choice}")
            fitting(spec, {})


def _users_act(spec: RunSpec, objects: Objects) -> bool:
    """Whether code that did not come with fedbench or PyTorch runs in a round."""
    given: dict[str, Any] = {**objects}
    model = given.pop("model", nn.Identity())
    own = [layer for layer in model.modules() if not type(layer).__module__.startswith("torch.nn.")]
    return bool(spec.plugins() or own or given.keys() - {"data", "partition"})


def _rows(
    spec: RunSpec, objects: Objects, data: Dataset, train: Indices, held_out: Indices
) -> partition.Rows:
    """Each client's training rows: those given, or as the partition that is named deals them."""
    if "partition" in objects:
        partition.check_partition(objects["partition"], len(data.y_train), spec.clients, held_out)
        partition.refuse_overlap(objects["partition"], "partition: ")
        return objects["partition"]
    rule: Partition = spec.partition.build("partition")
    on_cpu = seeded_for(spec.partition_seed, "users' partition")
    with called(f"partition '{spec.partition}'", str(rule)), on_cpu:
        return partition.draw_partition(rule, data, train, spec.clients, spec.partition_seed)


def _model(
    spec: RunSpec, objects: Objects, data: Dataset, example: Tensor, folder: Path | None
) -> tuple[nn.Module, str]:
    """A copy of the model that is given, or a new one, drawn from the seed; and its name in errors.

    example: a prepared sample; folder: holds published weights.
    """
    if "model" in objects:
        module, place = copy.deepcopy(objects["model"]), f"model: {type(objects['model']).__name__}"
    else:
        architecture: Architecture = spec.model.build("model")
        model_checks.require_room(str(spec.model), architecture, data.inputs)
        with seeded_for(spec.seed, "model"):  # on the CPU in float32
            module, place = architecture.build(data.inputs), f"model: '{spec.model}'"
            architecture.load(module, data_folder(folder))
            if spec.projection:
                kind = torch.float32 if example.is_floating_point() else example.dtype
                example = example.to("cpu", kind)
                module = with_projection(module, spec.projection, data.inputs.outputs, example)
    model_checks.refuse_without_weights(module, place)
    return module, place


def _federation(
    spec: RunSpec, data: Dataset, counts: NDArray[np.int64], task: LocalTask, machine: Machine
) -> Federation:
    start = task.net.start()
    n, labels = (torch.tensor(each).to(start.w) for each in (counts.sum(1), counts))
    return Federation(
        K=spec.clients, m=cohort_size(spec.clients, spec.participation), classes=data.classes,
        d=task.net.d, n=n, labels=labels,
        lr=spec.lr, rounds=spec.rounds, net=task.net, start=start, spill=Spill(machine.state_gb),
        optimiser=task.optimiser,
    )  # fmt: skip


def _own_test(task: LocalTask, seen: Shifted) -> OwnTest | None:
    if seen.own is None or seen.x_test is None:
        return None
    scorer = _scorer(task, seen.x_test, seen.data.y_test, seen.data.classes)
    return OwnTest(scorer, [torch.as_tensor(rows, device=task.x.device) for rows in seen.own])


def _scorers(task: LocalTask, data: Dataset, held_out: Indices, spec: RunSpec) -> dict[str, Scorer]:
    scorers = {"": _scorer(task, data.x_test, data.y_test, data.classes)}
    if spec.validation and data.x_held_out is not None and data.y_held_out is not None:
        scorers["val_"] = _scorer(task, data.x_held_out, data.y_held_out, data.classes)
    elif len(held_out):
        rows = torch.as_tensor(held_out, device=task.x.device)
        scorers["val_"] = Scorer(task, task.x[rows], task.y[rows], data.classes)
    return scorers


def _scorer(
    task: LocalTask, x: NDArray[np.generic], y: NDArray[np.generic], classes: int
) -> Scorer:
    device, dtype = task.x.device, task.net.start().w.dtype
    return Scorer(task, images(x, device), targets(y, device, dtype), classes)
