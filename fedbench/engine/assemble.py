"""Assembles a run from its settings, and from objects that are given in place of some."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fedbench.base.errors import FedbenchError, at, failing, require_returned
from fedbench.core.flat_network import Net
from fedbench.core.local_optimisers import SGD, Adam, Optimiser
from fedbench.core.part import Part
from fedbench.core.part_conflicts import refuse_conflicts, refuse_missing, refuse_optimiser
from fedbench.core.rng import CPU, seeded, seeded_for
from fedbench.core.round_data import Federation
from fedbench.core.tensors_on_disk import Spill
from fedbench.data.columns_and_channels import scales
from fedbench.data.dataset import Dataset, Inputs
from fedbench.data.partition import Indices, Partition, Rows, Unused, divide
from fedbench.data.shift import Shifted, shifted
from fedbench.data.source import Source, data_folder
from fedbench.engine import model_checks
from fedbench.engine.given_objects import Identity, Objects, described, named
from fedbench.engine.machine import Machine, float32_by_default, same_bits_on
from fedbench.engine.preprocessing import preparation, samples
from fedbench.engine.problem import LOSSES, LocalTask, OwnTest, Problem, Scorer, UsersCode
from fedbench.models.architecture import Architecture, with_projection
from fedbench.sampling.sampler import Sampler, cohort_size
from fedbench.spec import RunSpec
from fedbench.work.local_epochs import Work

_held: ContextVar[dict[str, Dataset] | None] = ContextVar("_held", default=None)


@float32_by_default()
def assemble(spec: RunSpec, objects: Objects, machine: Machine, folder: Path | None) -> Problem:
    """The problem that `spec` describes; raises `FedbenchError` before any training starts."""
    spec, unnamed = named(spec, objects)
    device = same_bits_on(machine.torch_device())
    dtype = torch.float64 if spec.precision == "float64" else torch.float32
    data = objects.get("data") or data_of(spec, folder)
    _require_fit(data, spec)
    parts, sampler, work, rule = chosen(spec, objects)
    steps, loss = optimiser(spec), objects.get("loss", LOSSES[data.classes > 0])
    module, place = _model(spec, objects, data.inputs, folder)
    net = Net(module.to(device, dtype), spec.precision == "bfloat16")
    refuse_conflicts(parts)
    refuse_optimiser(parts, steps)
    refuse_missing(parts, data.classes, net.has_head, spec.projection, spec.validation)
    seed, name = spec.partition_seed, f"partition '{spec.partition}'"
    with seeded_for(seed, "users' partition"):
        train, held_out, rows = divide(data, rule, spec.validation, spec.clients, seed, name)
    scale = scales(data, train, spec.normalise)
    with seeded_for(seed, "users' shift"):
        seen = shifted(data, rows, [x.build("shift") for x in spec.shift], seed)
    x, y = samples(seen.data.x_train, seen.data.y_train, device, dtype)
    task = LocalTask(
        net=net, parts=parts, loss=loss, optimiser=steps,
        clip=spec.clip, x=x, y=y, prepare=preparation(data, scale, net),
        decays=None if spec.decay_norms else (~net.norm_mask()).to(device, dtype),
        crop=spec.augment.crop if spec.augment else 0,
        threads=machine.threads(), users=UsersCode(_users_act(spec, objects)),
    )  # fmt: skip
    problem = Problem(
        spec=spec, identity=Identity(spec, described(unnamed)), data=data, task=task,
        fed=_federation(spec, data.classes, seen.counts, task, machine),
        rows=[torch.as_tensor(r, dtype=torch.long) for r in rows], label_counts=seen.counts,
        own_test=_own_test(task, seen), unused=Unused.of(rows, len(train)),
        scorers=_scorers(task, data, held_out, spec), sampler=sampler, work=work,
    )  # fmt: skip
    model_checks.refuse_unfit(problem, place)
    net.find_dropout(task.prepare(x[:2]))
    return problem


def data_of(spec: RunSpec, folder: Path | None) -> Dataset:
    """The data set that the spec names, in `folder`; draws of users' sources have one seed."""
    place, held = data_folder(folder), _held.get()
    key = f"{spec.dataset} in {place}"
    if held is None or key not in held:
        if held:
            held.clear()  # never two in memory
        with seeded(0, CPU, users=True):
            source: Source = spec.dataset.build("dataset")
            data = source.load(place)
        require_returned(f"dataset '{spec.dataset}': load", data, Dataset)
        if held is None:
            return data
        held[key] = data
    return held[key]


@contextmanager
def loading_once() -> Iterator[None]:
    """A context in which runs on the same data, one after another, load them once."""
    before = _held.set({})
    try:
        yield
    finally:
        _held.reset(before)


def _require_fit(data: Dataset, spec: RunSpec) -> None:
    """Raise `FedbenchError` if these data cannot be prepared as the spec says."""
    named = f"data set '{data.name}'"
    if spec.augment and len(data.shape) != 3:
        raise FedbenchError(f"augment: {named} has samples of shape {data.shape}, no images")
    if spec.normalise and data.vocabulary:
        raise FedbenchError(f"normalise = True, but {named} holds token ids")


def build_parts(spec: RunSpec) -> tuple[Part, ...]:
    """The parts that the spec lists, in order."""
    return tuple(part.build("method") for part in spec.parts)


def chosen(
    spec: RunSpec, objects: Objects
) -> tuple[tuple[Part, ...], Sampler, Work, Partition | Rows]:
    """The parts, sampler, rule of local work, and partition, given or named."""
    parts = objects["parts"] if "parts" in objects else build_parts(spec)
    sampler = objects["sampler"] if "sampler" in objects else spec.sampler.build("sampler")
    sampler.require(spec.clients, spec.participation)
    work = objects["work"] if "work" in objects else spec.work.build("work")
    work.require(spec.most)
    rule = objects["partition"] if "partition" in objects else spec.partition.build("partition")
    return parts, sampler, work, rule


def optimiser(spec: RunSpec) -> Optimiser:
    """The local optimiser that the spec names."""
    if spec.optimizer == "adam":
        return Adam(*spec.betas, spec.eps, spec.weight_decay)
    return SGD(spec.momentum, spec.dampening, spec.nesterov, spec.weight_decay)


def check_choices(specs: Iterable[tuple[str, RunSpec]]) -> None:
    """Build all that each spec names; raises `FedbenchError` with its place on a bad value."""
    built, seen = set[str](), set[str]()
    for place, spec in specs:
        named = [(f"{kind} {choice}", kind, choice) for kind, choice in spec.choices()]
        sizes = spec.clients, spec.participation, spec.most, optimiser(spec)
        if (all_of_it := f"{[words for words, *_ in named]} {sizes}") in seen:
            continue  # runs of other seeds or rates
        seen.add(all_of_it)
        with at(place):
            for words, kind, choice in named:
                if words not in built:
                    choice.build(kind)
                    built.add(words)
            parts, *_ = chosen(spec, {})
            refuse_conflicts(parts)
            refuse_optimiser(parts, optimiser(spec))


def _users_act(spec: RunSpec, objects: Objects) -> bool:
    """Whether code that did not come with fedbench or PyTorch runs in a round."""
    given: dict[str, Any] = {**objects}
    model = given.pop("model", nn.Identity())
    own = [layer for layer in model.modules() if not type(layer).__module__.startswith("torch.nn.")]
    return bool(spec.plugins() or own or given.keys() - {"data", "partition"})


def _model(
    spec: RunSpec, objects: Objects, inputs: Inputs, folder: Path | None
) -> tuple[nn.Module, str]:
    """A copy of the model that is given, or a new one, drawn from the seed, and its name."""
    if "model" in objects:
        given, place = objects["model"], f"model: {type(objects['model']).__name__}"
        model_checks.refuse_without_weights(given, place)
        with failing(f"{place} cannot be copied", "of weight_norm, take that of parametrizations"):
            return copy.deepcopy(given), place
    architecture: Architecture = spec.model.build("model")
    model_checks.require_room(str(spec.model), architecture, inputs)
    with seeded_for(spec.seed, "model"):  # on the CPU in float32
        module, place = architecture.build(inputs), f"model: '{spec.model}'"
        architecture.load(module, data_folder(folder))
        if spec.projection:
            module = with_projection(module, spec.projection, inputs)
    model_checks.refuse_without_weights(module, place)
    return module, place


def _federation(
    spec: RunSpec, classes: int, counts: NDArray[np.int64], task: LocalTask, machine: Machine
) -> Federation:
    start = task.net.start()
    n, labels = (torch.tensor(each).to(start.w) for each in (counts.sum(1), counts))
    return Federation(
        K=spec.clients, m=cohort_size(spec.clients, spec.participation), classes=classes,
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
    return Scorer(task, *samples(x, y, device, dtype), classes)
