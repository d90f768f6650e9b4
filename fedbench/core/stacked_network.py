"""One network at several weights at once: a grouped convolution, or a batched product, per layer.

Images of m clients lie side by side as channels, (B, m·C, H, W); vectors as (m, B, F).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedbench.core.flat_network import Buffers, Called, CalledModules, Model, Net

Found = tuple[Tensor, Tensor]  # logits and features of one client
Mode = Literal["train", "eval"]


class StackedNet:
    """Evaluates a network for several (weights, buffers, samples), each as if alone.

    Raises `TypeError` when built of a network that has a layer without a stacked form.
    """

    def __init__(self, net: Net) -> None:
        self._net, self._forms = net, CalledModules(net.module(), _form)
        layers = (layer for layer in net.module().modules() if not list(layer.children()))
        self._flattens_first = type(next(layers)) is nn.Flatten

    def place(self, w: Tensor, buffers: Buffers) -> list[Tensor]:
        """As `Net.place`, of weights (m, d); each layer's first dimension is m."""
        leaves = {n: v.detach().requires_grad_() for n, v in self._net.named(w).items()}
        _tell(self._forms.student, len(w))
        self._forms.student.place(leaves | buffers)
        return list(leaves.values())

    def train_placed(self, x: Tensor) -> Tensor:
        """Logits (m, B, C) of inputs (m, B, …) in training mode."""
        seen = x.flatten(2) if self._flattens_first or x.ndim == 3 else _side_by_side(list(x))
        logits: Tensor = self._forms.student.module(seen)[0]
        return logits

    def call(self, mode: Mode, models: Sequence[Model], xs: Sequence[Tensor]) -> list[Found]:
        """Logits and features; in training the models' running statistics change."""
        module = self._forms.student if mode == "train" else self._forms.teacher
        w, names = torch.stack([model.w for model in models]), models[0].buffers
        statistics = {name: torch.stack([m.buffers[name] for m in models]) for name in names}
        _tell(module, len(w))
        logits, features = module(self._net.named(w) | statistics, _side_by_side(xs))
        for name, values in statistics.items():
            for model, value in zip(models, values, strict=True):
                model.buffers[name].copy_(value)
        return [(z[: len(x)], f[: len(x)]) for z, f, x in zip(logits, features, xs, strict=True)]


def _tell(called: Called, clients: int) -> None:
    """Tell the layers that need it how many clients there are."""
    layer: Any
    for layer in called.module.modules():
        if hasattr(layer, "clients"):
            if layer.clients == clients:  # and so in all others
                return
            layer.clients = clients


def _side_by_side(xs: Sequence[Tensor]) -> Tensor:
    """The samples of all clients as one input; shorter batches get rows of zeros at their end."""
    longest = max(len(x) for x in xs)
    padded = [
        x if len(x) == longest else torch.cat([x, x.new_zeros(longest - len(x), *x.shape[1:])])
        for x in xs
    ]
    if xs[0].ndim != 4:
        return torch.stack(padded)
    return torch.cat(padded, 1).contiguous(memory_format=torch.channels_last)


class _Stacked(nn.Module):
    """A layer with the settings of another, whose weights have m as their first dimension."""

    def __init__(self, like: nn.Module, forward: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        unusual = getattr(like, "padding_mode", "zeros") != "zeros"
        if isinstance(like, nn.BatchNorm2d):
            unusual = like.momentum is None or not (like.affine and like.track_running_stats)
        if unusual:
            raise TypeError(f"{type(like).__name__} with such settings has no stacked form")
        vars(self).update(vars(like))
        self.forward = partial(forward, self)
        self.clients: Any = 1  # m, from the call on


def _conv(layer: Any, x: Tensor) -> Tensor:
    """The convolutions of m clients as one with m times the groups."""
    bias = None if layer.bias is None else layer.bias.flatten()
    groups = layer.groups * len(layer.weight)
    weight = layer.weight.flatten(0, 1)
    return F.conv2d(x, weight, bias, layer.stride, layer.padding, layer.dilation, groups)


def _linear(layer: Any, x: Tensor) -> Tensor:
    """The matrix products of m clients as one batched product."""
    if layer.bias is None:
        return torch.bmm(x, layer.weight.mT)
    return torch.baddbmm(layer.bias.unsqueeze(1), x, layer.weight.mT)


def _group_norm(layer: Any, x: Tensor) -> Tensor:
    groups = layer.num_groups * len(layer.weight)
    return F.group_norm(x, groups, layer.weight.flatten(), layer.bias.flatten(), layer.eps)


def _batch_norm(layer: Any, x: Tensor) -> Tensor:
    if layer.training:
        layer.num_batches_tracked.add_(1)
    statistics = layer.running_mean.view(-1), layer.running_var.view(-1)
    weights = layer.weight.flatten(), layer.bias.flatten()
    return F.batch_norm(x, *statistics, *weights, layer.training, layer.momentum, layer.eps)


def _rows(layer: Any, x: Tensor) -> Tensor:
    """Each client's channels as rows of its own: (B, m·C, H, W) → (m, B, C·H·W)."""
    if x.ndim == 3:  # vectors already
        return x
    return x.reshape(len(x), layer.clients, -1).transpose(0, 1)


_PIXELWISE = (
    nn.ReLU, nn.Tanh, nn.Identity, nn.Upsample,
    nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d,
)  # fmt: skip
_STACKED: dict[type[nn.Module], Callable[[Any, Tensor], Tensor]] = {
    nn.Conv2d: _conv,
    nn.Linear: _linear,
    nn.GroupNorm: _group_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.Flatten: _rows,
}


def _form(module: nn.Module) -> nn.Module:
    """The module with each layer in its stacked form, in place; `TypeError` on one without.

    A module of layers must call them as `Sequential` does, or say by an attribute `layerwise` that
    it keeps channels apart but for its layers. An attribute `clients` is set to m before each call.
    """
    if type(module) in _PIXELWISE:  # what derives from one may mix channels
        return module
    if form := _STACKED.get(type(module)):
        return _Stacked(module, form)
    in_a_row = type(module).forward is nn.Sequential.forward
    if not (in_a_row or getattr(module, "layerwise", False)):
        raise TypeError(f"{type(module).__name__} has no stacked form")
    inside = list(module.named_modules(remove_duplicate=False))  # a layer may stand twice in it
    for name, child in inside:
        if name and "." not in name:
            setattr(module, name, _form(child))
    return module
