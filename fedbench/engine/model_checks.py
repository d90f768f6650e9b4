"""Checks, before any training, that a model fits into memory and fits the data."""

import os
import warnings
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from fedbench.base.errors import FedbenchError, failing, require_returned
from fedbench.core.flat_network import Net
from fedbench.core.rng import noticing, seeded
from fedbench.core.round_data import Loss
from fedbench.data.dataset import Dataset, Inputs
from fedbench.engine.problem import LOSSES, Problem
from fedbench.models.architecture import Architecture

_COPIES = 4  # the global model, a client's, its gradient and its update
_BYTES = 4  # of a float32
_MODES = ("evaluation", "training")
_COUNTED: dict[tuple[type, str, Inputs], int] = {}


def require_room(name: str, architecture: Architecture, inputs: Inputs) -> None:
    """Raise `FedbenchError` if the model cannot be built, or is too large for memory."""
    key = type(architecture), repr(architecture), inputs
    beyond = (RuntimeError, OverflowError, TypeError)  # of sizes beyond torch's integers
    if key not in _COUNTED:  # on a module without storage, once per process
        with (
            failing(f"model = {name} cannot be built", kinds=beyond),
            suppress(NotImplementedError),  # some need values, which only the real build has
            torch.device("meta"),
            torch.random.fork_rng(devices=[]),
            warnings.catch_warnings(action="ignore"),  # weights from a file have no effect
        ):
            module = architecture.build(inputs)
            require_returned(f"model '{name}': build", module, nn.Module)
            _COUNTED[key] = sum(each.numel() for each in module.parameters())
        _COUNTED.setdefault(key, 0)
    needed = _COUNTED[key] * _COPIES * _BYTES
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > available:
        raise FedbenchError(
            f"model = {name} has {_COUNTED[key]:,} parameters; training needs {needed / 1e9:,.0f} "
            f"GB for {_COPIES} copies, but this machine has {available / 1e9:,.0f} GB"
        )


def refuse_without_weights(module: nn.Module, place: str) -> None:
    """Raise `FedbenchError` unless a module has weights to train, and all of them have a size."""
    weights = [each for each in module.parameters() if each.requires_grad]
    if not weights:
        raise FedbenchError(f"{place} has no weights that are trained")
    if "w" in dict(module.named_buffers(recurse=False)):
        raise FedbenchError(f"{place} has a buffer 'w', as all weights are called; rename it")
    if any(isinstance(each, UninitializedParameter) for each in weights):
        raise FedbenchError(f"{place} has a lazy layer; call it once with a sample before")
    if not all(each.isfinite().all() for each in weights):
        raise FedbenchError(f"{place} has weights that are not finite")
    embeddings = (m for m in module.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag))
    if any(each.sparse or each.max_norm is not None for each in embeddings):
        said = "max_norm, which changes weights when it is called, or sparse gradients"
        raise FedbenchError(f"{place} has an embedding with {said}; leave them out")


def refuse_unfit(problem: Problem, place: str) -> None:
    """Refuse a network, called `place`, or a loss that cannot be trained with on these data."""
    task, net = problem.task, problem.task.net
    x = task.prepare(task.x[:2])
    _refuse_misfit(net, problem.data, x, place)
    _refuse_changes(net, x, place)
    _refuse_other_inputs(net, x, place)
    if net.has_head:
        _refuse_more(net, x, place)
    _refuse_lone_samples(problem, x[:1], place)
    if task.loss not in LOSSES:
        _refuse_loss(task.loss, net, x, task.y[:2])


def _refuse_misfit(net: Net, data: Dataset, x: Tensor, place: str) -> None:
    """Refuse a network that cannot take prepared samples x, changes them, or has other outputs."""
    before = x.clone()
    samples = f"samples of data set '{data.name}', which are {data.inputs.words}"
    with failing(f"{place} cannot take the {samples}"), torch.no_grad(), seeded(0, x.device):
        for answer in net.answers(x):
            if not isinstance(answer, Tensor):
                kind = type(answer).__name__
                raise FedbenchError(
                    f"{place} returns {'an' if kind[0] in 'aeiou' else 'a'} {kind}; it must return "
                    "one tensor (B, C) in each mode, as must children 'body' and 'head' (features)"
                )
        outputs = net.eval(net.start(), x)[0]
    width = max(data.classes, 1)
    if outputs.shape != (len(x), width) and (data.classes or outputs.shape != (len(x),)):
        labels = f"{data.classes} classes" if data.classes else "numbers for labels"
        raise FedbenchError(
            f"{place} gives outputs of shape {tuple(outputs.shape)} for {len(x)} samples; data set "
            f"'{data.name}' has {labels}, so it must give {(len(x), width)}"
        )
    if not _same(x, before):
        raise FedbenchError(
            f"{place} changes its input, which is read again; write x = x - 1 in place of x -= 1"
        )


def _refuse_changes(net: Net, x: Tensor, place: str) -> None:
    """Refuse a network that draws, or changes weights or buffers, when it evaluates x."""
    model = net.start()
    with torch.no_grad(), noticing(x.device) as drew:
        net.eval(model, x)
        if drew():
            raise FedbenchError(
                f"{place} draws random numbers in evaluation; set F.dropout(training=self.training)"
            )
        if not torch.equal(model.w, net.start().w):
            raise FedbenchError(f"{place} changes its weights when it is called")
        for buffer, value in net.start().buffers.items():
            if not _same(value, model.buffers[buffer]):
                raise FedbenchError(
                    f"{place} changes its buffer '{buffer}' in evaluation; do so in training alone"
                )
        if buffer := net.replaced(x):
            raise FedbenchError(
                f"{place} puts another tensor, which is lost after the call, in the place of its "
                f"buffer '{buffer}'; change it in place, as self.{buffer}.copy_(…)"
            )


def _refuse_other_inputs(net: Net, x: Tensor, place: str) -> None:
    """Refuse outputs for x that follow from earlier calls, or from weights that no call gets."""
    w = net.start().w.requires_grad_()
    with torch.enable_grad():
        outputs = net.in_turn(w, x, _MODES * 2)
    for mode, z, again in zip(_MODES, outputs, outputs[2:], strict=False):
        if not _same(z, again):
            raise FedbenchError(
                f"{place} gives other outputs in {mode} when it is called again: it keeps values, "
                "or draws some that have no seed; keep nothing but buffers, and draw with torch"
            )
        if others := [each for each in _leaves(z) if each is not w]:
            raise FedbenchError(
                f"{place} reads a tensor of shape {tuple(others[0].shape)} past its layers' "
                "parameters, as through a list or a lambda, so that it would never be trained; "
                "read it as an attribute, such as self.layer.weight"
            )
    if not _leaves(outputs[1]):
        raise FedbenchError(
            f"{place} gives outputs in training that have no gradient; leave out what removes it, "
            "such as .detach() or torch.no_grad()"
        )


def _refuse_more(net: Net, x: Tensor, place: str) -> None:
    """Refuse a module with `body` and `head` whose `forward` does more than head(body(x))."""
    noise = torch.Generator().manual_seed(0)
    w = net.start().w  # and noise, since first weights such as zeros may hide a difference
    w += 0.02 * torch.randn(w.shape, generator=noise).to(w)
    with torch.no_grad(), suppress(NotImplementedError):  # of a module without `forward`
        whole = net.in_turn(w, x, _MODES, whole=True)
        for z, given in zip(whole, net.in_turn(w, x, _MODES), strict=True):
            if isinstance(z, Tensor) and not _same(z.reshape(-1), given.reshape(-1)):
                raise FedbenchError(
                    f"{place} has children 'body' and 'head', but gives other outputs than "
                    "head(body(x)); name them otherwise, or move what is missing into one of them"
                )


def _leaves(z: Tensor) -> list[Tensor]:
    """The tensors without a history, such as weights, that a gradient of z would be of."""
    nodes: list[Any] = [z.grad_fn]
    seen = set()
    while nodes:
        if (node := nodes.pop()) and node not in seen:
            seen.add(node)
            nodes += [each for each, _ in node.next_functions]
    return [node.variable for node in seen if type(node).__name__ == "AccumulateGrad"]


def _same(one: Tensor, other: Tensor, off: float = 0.0) -> bool:
    """Whether two outputs are equal; on a GPU, where some sums have any order, up to rounding."""
    off = off or (0.0 if one.device.type == "cpu" else 1e-4)
    alike = one.shape == other.shape
    return alike and torch.allclose(one, other, rtol=off, atol=off, equal_nan=True)


def _refuse_lone_samples(problem: Problem, x: Tensor, place: str) -> None:
    """Refuse batches of one prepared sample x (1, …) for batch norm, which takes only images."""
    net, batch = problem.task.net, problem.spec.batch
    lone = [client for client, its in enumerate(problem.rows) if batch == 1 or len(its) == 1]
    if not (lone and net.has_batch_norm):
        return
    try:
        net.in_turn(net.start().w, x, ("training",))
    except ValueError:
        why = "batch = 1" if batch == 1 else f"client {lone[0]} has a single training sample"
        raise FedbenchError(
            f"{place} has batch normalisation, which needs two samples in a batch, but {why}; "
            "choose another model or other batches"
        ) from None


def _refuse_loss(loss: Loss, net: Net, x: Tensor, y: Tensor) -> None:
    """Refuse a loss without a value for each prepared sample x (B, …), or without a gradient."""
    w = net.start().w
    (z,) = net.in_turn(w, x, ("evaluation",))
    with torch.enable_grad():
        values = loss(z.detach().to(w.dtype).requires_grad_(), y)
    told = f"values of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values)
    if told != f"values of shape {tuple(y.shape)}":
        how = "F.cross_entropy does with reduction='none'"
        if y.is_floating_point():
            how = "(z.squeeze(-1) - y) ** 2 does for outputs z (B, 1)"
        raise FedbenchError(
            f"loss: gives {told} for {len(x)} samples; it must give a tensor, one per sample, as "
            f"{how}"
        )
    if not values.requires_grad:
        raise FedbenchError(
            f"loss: gives {str(values.dtype).removeprefix('torch.')} values without a gradient; "
            "leave out what removes it, such as .detach() or argmax"
        )
