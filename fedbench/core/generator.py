"""A generator of features Γ(ε, y), as FedGen trains one at the server."""

import math
from functools import cache

import torch
from torch import Tensor, nn

from fedbench.core.flat import Net


@cache
def perceptron(inputs: int, hidden: int, outputs: int) -> Net:
    """Linear, batch norm, ReLU, linear; has no weights, so that building it draws no numbers."""
    with torch.device("meta"):
        first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
        return Net(nn.Sequential(first, nn.BatchNorm1d(hidden), nn.ReLU(), last))


def first_weights(net: Net, rng: torch.Generator) -> Tensor:
    """First weights as PyTorch draws them: linear layers uniform in ±1/√inputs, batch norm 1, 0."""
    inputs = {name[0]: s[1] for name, s in zip(net.names, net.shapes, strict=True) if len(s) == 2}
    within = [1 / math.sqrt(inputs[name[0]]) if name[0] in inputs else 0.0 for name in net.names]
    about = [float(name == "1.weight") for name in net.names]
    sizes = torch.tensor(net.sizes)
    random = 2 * torch.rand(net.d, generator=rng, dtype=torch.float64) - 1
    spread, centre = (torch.tensor(v).repeat_interleave(sizes) for v in (within, about))
    return centre + spread * random


def labels(rng: torch.Generator, often: Tensor, rows: int, size: int) -> Tensor:
    """(rows, size) labels, drawn in proportion to `often` (C,)."""
    drawn = torch.multinomial(often.cpu(), rows * size, replacement=True, generator=rng)
    return drawn.view(rows, size)


def labelled(noise: Tensor, y: Tensor, classes: int) -> Tensor:
    """Noise and one-hot labels side by side: the generator's input."""
    one_hot = y[:, None] == torch.arange(classes, device=y.device)
    return torch.cat([noise, one_hot.to(noise.dtype)], 1)


def likeness(noise: Tensor, features: Tensor) -> Tensor:
    """exp(−mean over all pairs of d_ε d_Γ), with mean squared and mean absolute differences."""
    by_noise = (noise[:, None] - noise).square().mean(-1)
    by_features = (features[:, None] - features).abs().mean(-1)
    return (-(by_noise * by_features).mean()).exp()
