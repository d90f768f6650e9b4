"""The generator of features Γ(ε, y) that FedGen trains at the server."""

import math
from functools import cache

import torch
from torch import Tensor, nn

from fedbench.core.flat_network import Net


@cache
def perceptron(inputs: int, hidden: int, outputs: int) -> Net:
    """The network of linear layer, batch norm, ReLU, linear layer; building it draws no numbers."""
    with torch.random.fork_rng(devices=[]):
        first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
        return Net(nn.Sequential(first, nn.BatchNorm1d(hidden), nn.ReLU(), last))


def first_weights(net: Net, rng: torch.Generator) -> Tensor:
    """Initial weights (d,): linear layers uniform in ±1/√inputs, batch norm scale 1 and shift 0."""
    inputs = {name[0]: s[1] for name, s in zip(net.names, net.shapes, strict=True) if len(s) == 2}
    widths = [1 / math.sqrt(inputs[name[0]]) if name[0] in inputs else 0.0 for name in net.names]
    centres = [float(name == "1.weight") for name in net.names]
    sizes = torch.tensor(net.sizes)
    random = 2 * torch.rand(net.d, generator=rng, dtype=torch.float64) - 1
    spread, centre = (torch.tensor(v).repeat_interleave(sizes) for v in (widths, centres))
    return centre + spread * random


def labels(rng: torch.Generator, often: Tensor, rows: int, size: int) -> Tensor:
    """Labels (rows, size) on the CPU, where `often` (C,) must be: in proportion to its entries."""
    return torch.multinomial(often, rows * size, replacement=True, generator=rng).view(rows, size)


def labelled(noise: Tensor, y: Tensor, classes: int) -> Tensor:
    """The generator's input: noise (B, width) and one-hot labels (B, C) side by side."""
    one_hot = y[:, None] == torch.arange(classes, device=y.device)
    return torch.cat([noise, one_hot.to(noise.dtype)], 1)


def likeness(noise: Tensor, features: Tensor) -> Tensor:
    """exp(−mean over all pairs of d_ε d_Γ): large if different noise gives similar features."""
    by_noise = (noise[:, None] - noise).square().mean(-1)
    by_features = (features[:, None] - features).abs().mean(-1)
    return (-(by_noise * by_features).mean()).exp()
