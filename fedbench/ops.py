"""What several methods share; logits are (B, C), results one value a sample (B,)."""

import torch
from torch import Tensor


def kl(p: Tensor, q: Tensor) -> Tensor:
    """KL(softmax p ‖ softmax q) of logits."""
    a, b = p.log_softmax(-1), q.log_softmax(-1)
    return (a.exp() * (a - b)).sum(-1)


def entropy(z: Tensor) -> Tensor:
    """Entropy of softmax z."""
    a = z.log_softmax(-1)
    return -(a.exp() * a).sum(-1)


def is_true(z: Tensor, y: Tensor) -> Tensor:
    """(B, C) bool: which logit belongs to the sample's label; a one-hot that can be mapped."""
    return torch.arange(z.shape[-1], device=z.device) == y[:, None]


def without_true(z: Tensor, y: Tensor) -> Tensor:
    """The logits of the C−1 other classes (B, C−1)."""
    others = torch.arange(z.shape[-1] - 1, device=z.device)
    return z.gather(-1, others + (others >= y[:, None]))


def unit(g: Tensor) -> Tensor:
    """g / ‖g‖ of one flat vector; 0 stays 0."""
    return g / (g.norm() + 1e-12)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """⟨a, b⟩ of two vectors, summed in float64 whatever their precision."""
    return torch.dot(a.double(), b.double())


def replaced(table: Tensor, rows: int | list[int], values: Tensor) -> Tensor:
    """What a table's rows held before `values` took their place; the table may lie on disk."""
    old = table[rows].to(values.device, copy=True)
    table[rows] = values.to(table.device)
    return old
