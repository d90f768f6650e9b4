"""Assembles a run from its settings, and from objects that are given in place of some."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedbench.base import seeds
from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError, shown, unknown
from fedbench.core.flat import Net
from fedbench.core.part import Part
from fedbench.core.rng import seeded
from fedbench.core.round import Federation
from fedbench.core.spill import Spill
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Indices
from fedbench.data.shares import Rows, Unused, check_partition, hold_out, refuse_overlap
from fedbench.data.shift import Shifted, shifted
from fedbench.engine import scoring
from fedbench.engine.build import (
    build_model,
    build_sampler,
    build_shifts,
    build_work,
    data_of,
    fitting_parts,
    optimiser,
    partition_of,
)
from fedbench.engine.fit import (
    refuse_lone_samples,
    refuse_mean,
    refuse_memory,
    refuse_misfit,
    refuse_without_weights,
)
from fedbench.engine.identity import identify, named
from fedbench.engine.inputs import images, laid_out, preparation, refuse_without_images, targets
from fedbench.engine.local import LocalTask, Loss, UsersCode
from fedbench.engine.machine import Machine, float32_by_default, same_bits_on
from fedbench.engine.problem import OwnTest, Problem
from fedbench.engine.scoring import Scorer
from fedbench.engine.threads import Threads
from fedbench.sampling.sampler import Sampler, cohort_size
from fedbench.spec import RunSpec
from fedbench.work.work import Work


class Objects(TypedDict, total=False):
    """Objects that a caller of `run` may give in place of what the spec names."""

    data: Dataset
    model: nn.Module
    partition: Rows
    parts: tuple[Part, ...]
    sampler: Sampler
    work: Work
    probes: tuple[Checked, ...]
    loss: Loss


_FORMS: dict[str, tuple[str, Any]] = {
    "data": ("a Dataset", Dataset),
    "model": ("a torch.nn.Module", nn.Module),
    "partition": ("a list with the sample numbers of each client", Sequence),
    "parts": ("a tuple of parts, such as (FedProx(mu=0.1),)", Part),
    "sampler": ("a Sampler, such as Uniform()", Sampler),
    "work": ("a Work, such as Stragglers()", Work),
    "probes": ("a tuple of probes, such as (Steps(),)", Checked),
    "loss": ("a function of logits and labels", Callable),
}
_SEVERAL = ("parts", "probes")


def refuse_unknown(objects: Objects) -> None:
    """Raise `FedbenchError` if an object has no name that `run` takes, or is of another kind."""
    for name, value in objects.items():
        if name not in _FORMS:
            raise unknown("object", name, _FORMS)
        form, kind = _FORMS[name]
        several = isinstance(value, list | tuple) and all(isinstance(x, kind) for x in value)
        if not (several if name in _SEVERAL else isinstance(value, kind)):
            raise FedbenchError(f"{name}: {shown(value)} must be {form}")


@float32_by_default()
def assemble(spec: RunSpec, objects: Objects, machine: Machine, folder: Path | None) -> Problem:
    """The problem that `spec` describes; raises `FedbenchError` before any training starts."""
    refuse_unknown(objects)
    spec = named(spec, objects)
    device = same_bits_on(machine.torch_device())
    dtype = torch.float64 if spec.precision == "float64" else torch.float32
    data = objects.get("data") or data_of(spec, folder)
    parts = fitting_parts(spec, objects.get("parts"))
    if spec.augment:
        refuse_without_images(data)
    train, held_out = hold_out(data, spec.validation, spec.partition_seed)
    rows = _rows(spec, objects, data, train, held_out)
    floats = preparation(data, spec, train, device, dtype)
    seen = _as_clients_see(spec, data, rows)
    x, y = images(seen.data.x_train, device), targets(seen.data.y_train, device, dtype)
    module = _module(spec, objects, data, floats(x[:1]), folder).to(device, dtype)
    net = Net(module, spec.precision == "bfloat16")
    prepare = laid_out(floats, net)
    two = prepare(x[:2])
    _refuse_unfit(net, data, rows, spec.batch, two, _name(spec, objects))
    refuse_missing(parts, spec, net)
    net.find_dropout(two)
    loss = _loss(objects, data, net, two, y[:2])
    task = LocalTask(
        net=net, parts=parts, loss=loss, optimiser=optimiser(spec),
        clip=spec.clip, x=x, y=y, prepare=prepare,
        decays=None if spec.decay_norms else (~net.norm_mask()).to(device, dtype),
        crop=spec.augment.crop if spec.augment else 0,
        threads=Threads(machine.threads()), users=UsersCode(_users_act(spec, objects)),
    )  # fmt: skip
    counts = _label_counts(seen.data, rows)
    return Problem(
        spec=spec, identity=identify(spec, objects), data=data, task=task,
        fed=constants(spec, data, counts, net, machine),
        rows=[torch.as_tensor(r, dtype=torch.long) for r in rows], label_counts=counts,
        own_test=_own_test(task, seen),
        unused=Unused.of(rows, len(train)), scorers=_scorers(task, data, held_out, spec),
        sampler=build_sampler(spec, objects.get("sampler")),
        work=build_work(spec, objects.get("work")),
    )  # fmt: skip


def _users_act(spec: RunSpec, objects: Objects) -> bool:
    """Whether code that did not come with fedbench or PyTorch runs in a round."""
    given: dict[str, Any] = {**objects}
    model = given.pop("model", nn.Identity())
    own = [layer for layer in model.modules() if not type(layer).__module__.startswith("torch.nn.")]
    return bool(spec.plugins() or own or given.keys() - {"data", "partition"})


def _refuse_unfit(
    net: Net, data: Dataset, rows: Rows, batch: int | None, two: Tensor, name: str
) -> None:
    """Raise `FedbenchError` on a network that does not fit two prepared samples, or remembers."""
    refuse_misfit(net, data, two, name)
    refuse_memory(net, two, name)
    refuse_lone_samples(net, rows, batch, two[:1], name)


def _rows(
    spec: RunSpec, objects: Objects, data: Dataset, train: Indices, held_out: Indices
) -> Rows:
    """Each client's training rows: those given, or as the partition that is named deals them."""
    if "partition" not in objects:
        return partition_of(data, train, spec)
    check_partition(objects["partition"], len(data.y_train), spec.clients, held_out)
    refuse_overlap(objects["partition"], "partition: ")
    return objects["partition"]


def _module(
    spec: RunSpec, objects: Objects, data: Dataset, example: Tensor, folder: Path | None
) -> nn.Module:
    """The module that is given or named; `FedbenchError` unless it has weights to train."""
    if "model" in objects:
        module = copy.deepcopy(objects["model"])
    else:
        # on the CPU in float32, as modules are when they are built
        kind = torch.float32 if example.is_floating_point() else example.dtype
        module = build_model(spec, data, example.to("cpu", kind), folder)
    refuse_without_weights(module, _name(spec, objects))
    return module


def _name(spec: RunSpec, objects: Objects) -> str:
    return type(objects["model"]).__name__ if "model" in objects else f"'{spec.model}'"


def _loss(objects: Objects, data: Dataset, net: Net, x: Tensor, y: Tensor) -> Loss:
    """The loss that is given, tried on prepared samples x and labels y, or that of the data."""
    if "loss" not in objects:
        return scoring.cross_entropy if data.classes else scoring.half_squared_error
    refuse_mean(objects["loss"], net, x, y)
    return objects["loss"]


def _as_clients_see(spec: RunSpec, data: Dataset, rows: Rows) -> Shifted:
    """The data with the shifts that the spec lists; draws of users' rules have one seed."""
    number = seeds.number(spec.partition_seed, seeds.ALWAYS, seeds.EVERYONE, "users' shift")
    with seeded(number, torch.device("cpu"), users=True):
        return shifted(data, rows, build_shifts(spec), spec.partition_seed)


def _own_test(task: LocalTask, seen: Shifted) -> OwnTest | None:
    if seen.own is None or seen.x_test is None:
        return None
    device, y = task.x.device, targets(seen.data.y_test, task.x.device, task.net.start().w.dtype)
    scorer = Scorer(task, images(seen.x_test, device), y, seen.data.classes)
    return OwnTest(scorer, [torch.as_tensor(rows, device=device) for rows in seen.own])


def _scorers(
    task: LocalTask, data: Dataset, held_out: NDArray[np.int64], spec: RunSpec
) -> dict[str, Scorer]:
    """The scorers on the test set, and on held-out data if the run has any."""
    device, dtype = task.x.device, task.net.start().w.dtype
    sets = {"": (images(data.x_test, device), targets(data.y_test, device, dtype))}
    if spec.validation and data.x_held_out is not None and data.y_held_out is not None:
        official = images(data.x_held_out, device), targets(data.y_held_out, device, dtype)
        sets["val_"] = official
    elif len(held_out):
        rows = torch.as_tensor(held_out, device=device)
        sets["val_"] = (task.x[rows], task.y[rows])
    return {prefix: Scorer(task, x, y, data.classes) for prefix, (x, y) in sets.items()}


def _label_counts(data: Dataset, rows: Rows) -> NDArray[np.int64]:
    """How often each client has each label (K, C); without classes all labels count as one."""
    labels = data.y_train if data.classes else np.zeros(len(data.y_train))
    width = max(data.classes, 1)
    return np.stack([np.bincount(labels[r].astype(np.int64), minlength=width) for r in rows])


def constants(
    spec: RunSpec, data: Dataset, counts: NDArray[np.int64], net: Net, machine: Machine
) -> Federation:
    """The constants of the federation, which parts may read; counts: labels per client (K, C)."""
    like = net.start().w
    return Federation(
        K=spec.clients,
        m=cohort_size(spec.clients, spec.participation),
        classes=data.classes,
        d=net.d,
        n=torch.tensor(counts.sum(1), dtype=like.dtype, device=like.device),
        labels=torch.tensor(counts, dtype=like.dtype, device=like.device),
        lr=spec.lr,
        rounds=spec.rounds,
        net=net,
        start=net.start(),
        spill=Spill(machine.state_gb),
        optimiser=optimiser(spec),
    )


def refuse_missing(parts: Sequence[Part], spec: RunSpec, net: Net) -> None:
    """Raise `FedbenchError` if a part needs something that the run does not have."""
    for part in parts:
        name = type(part).__name__
        if part.needs_projection and not spec.projection:
            raise FedbenchError(
                f"projection: {name} needs a projection head; set projection to its width"
            )
        if part.proxy_data and not spec.validation:
            raise FedbenchError(
                f"validation = 0: {name} needs held-out data; set validation above 0"
            )
        if part.needs_head and not net.has_head:
            raise FedbenchError(f"model: {name} needs a module with children 'body' and 'head'")
