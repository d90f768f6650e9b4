"""Builds what a spec names: parts, model, data, optimiser."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from fedbench.base import registry, seeds
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Net
from fedbench.core.optimisers import SGD, Adam, Optimiser
from fedbench.core.part import Part, refuse_conflicts
from fedbench.data.dataset import Dataset
from fedbench.models.architecture import with_projection
from fedbench.probe import Probe
from fedbench.room import require_room
from fedbench.sampling.sampler import Sampler
from fedbench.spec import RunSpec


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
        build_probes(spec)
        optimiser(spec)


def build_parts(spec: RunSpec) -> tuple[Part, ...]:
    """The parts that the spec lists, in order."""
    return tuple(registry.build("method", part.name, part.params) for part in spec.parts)


def build_sampler(spec: RunSpec) -> Sampler:
    """The sampler that the spec names."""
    found: Sampler = registry.build("sampler", spec.sampler.name, spec.sampler.params)
    return found


def build_probes(spec: RunSpec) -> tuple[Probe, ...]:
    """The probes that the spec lists, in order."""
    return tuple(registry.build("probe", probe.name, probe.params) for probe in spec.watch)


def build_model(spec: RunSpec, data: Dataset, example: Tensor) -> nn.Module:
    """A freshly initialised model; its weights depend on the seed alone."""
    architecture = registry.build("model", spec.model.name, spec.model.params)
    require_room(str(spec.model), architecture, data.inputs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.number(spec.seed, seeds.ALWAYS, seeds.EVERYONE, "model"))
        module: nn.Module = architecture.build(data.inputs)
        if spec.projection:
            module = with_projection(module, spec.projection, data.classes, example)
    return module


def refuse_missing(parts: Sequence[Part], spec: RunSpec, net: Net) -> None:
    """Raise `FedbenchError` if a part needs something that this run does not have."""
    for part in parts:
        name = type(part).__name__
        if part.needs_projection and not spec.projection:
            raise FedbenchError(f"projection: {name} needs a projection head; set its width")
        if part.proxy_data and not spec.validation:
            raise FedbenchError(f"validation = 0: {name} needs held-out data; set it above 0")
        if part.own_momentum and spec.momentum:
            raise FedbenchError(
                f"momentum = {spec.momentum}: {name} keeps the momentum buffer itself; set it to 0"
            )
        if part.needs_head and not net.has_head:
            raise FedbenchError(f"model: {name} needs a module with children 'body' and 'head'")


def optimiser(spec: RunSpec) -> Optimiser:
    """The local optimiser."""
    if spec.optimizer == "adam":
        return Adam(*spec.betas, spec.eps, spec.weight_decay)
    return SGD(spec.momentum, spec.dampening, spec.nesterov, spec.weight_decay)
