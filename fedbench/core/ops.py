"""Functions that several methods use: divergences, norms, and buffers of earlier models."""

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError


def kl(p: Tensor, q: Tensor, least: int = 2) -> Tensor:
    """KL(softmax p ‖ softmax q) of logits p and q (B, C) per sample (B,); needs `least` classes."""
    if q.dim() < 2 or q.shape[-1] < least:
        needs = f"it needs at least {least} classes"
        raise FedbenchError(f"a divergence of logits of shape {tuple(q.shape)}: {needs}")
    a, b = p.log_softmax(-1), q.log_softmax(-1)
    return (a.exp() * (a - b)).sum(-1)


def entropy(z: Tensor) -> Tensor:
    """The entropy of softmax z for logits z (B, C), one value per sample (B,)."""
    a = z.log_softmax(-1)
    return -(a.exp() * a).sum(-1)


def is_true(z: Tensor, y: Tensor) -> Tensor:
    """(B, C) bool: true at each sample's label y; a one-hot encoding."""
    return torch.arange(z.shape[-1], device=z.device) == y[:, None]


def without_true(z: Tensor, y: Tensor) -> Tensor:
    """The logits (B, C−1) of all classes but each sample's label y."""
    others = torch.arange(z.shape[-1] - 1, device=z.device)
    return z.gather(-1, others + (others >= y[:, None]))


def unit(g: Tensor) -> Tensor:
    """The direction g / ‖g‖ of one flat vector; 0 stays 0."""
    length: Tensor = g.norm()
    return g / (length + 1e-12)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """⟨a, b⟩ of two vectors, summed in float64 whatever their precision."""
    return torch.dot(a.double(), b.double())


def swap_rows(table: Tensor, rows: int | list[int], values: Tensor) -> Tensor:
    """Write `values` into rows of a table, in place, and return what the rows held before."""
    old = table[rows].to(values.device, copy=True)
    table[rows] = values.to(table.device)
    return old


def ring(newest: dict[str, Tensor], M: int) -> dict[str, Tensor]:
    """A buffer of M places, newest first, each of which holds a copy of `newest`."""
    return {name: value.expand(M, *value.shape).clone() for name, value in newest.items()}


def with_newest(old: dict[str, Tensor], newest: dict[str, Tensor]) -> dict[str, Tensor]:
    """The buffer with `newest` in front and the oldest place dropped."""
    return {name: torch.cat([newest[name][None], value[:-1]]) for name, value in old.items()}


def count_of_models(M: int, t: int, from_start: bool) -> int:
    """How many of the M newest global models there are in round t, at least 1; with x_0 or not."""
    return min(M, max(t + from_start, 1))
