"""FedDisco: mixing weights that are larger for clients with balanced labels."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Part
from fedbench.core.round_data import Round


@dataclass(frozen=True)
class FedDisco(Part):
    """Mix with w_i ∝ ReLU(n_i − a d_i + b), d_i the distance of i's labels from uniform ones.

    n_i and d_i are scaled so that they sum to 1; with `metric: l2` the d_i are not scaled, as in
    the authors' code. Where all d_i are 0, or all weights would be 0, w_i = n_i. Ye et al.,
    "FedDisco: Federated Learning with Discrepancy-Aware Collaboration", ICML 2023, its aggregation
    weights.
    """

    needs_classes = True
    numerics: ClassVar[dict[str, int]] = {"proportional": 4}  # who is drawn twice counts twice
    shares = "label counts, once"

    a: NonNegative = 0.5  # 0 with b = 0 is FedAvg weighted by samples
    b: float = 0.1
    metric: Literal["kl", "l2"] = "kl"
    over: Literal["cohort", "all"] = "cohort"  # the clients over which n_i and d_i sum to 1

    def weigh(self, p: Tensor, r: Round) -> Tensor:
        """The weights w_i; they depend on sample counts, not on `p`."""
        over_all = self.over == "all"
        n = r.counts * r.times  # who is drawn twice counts twice
        n = n / (r.fed.n if over_all else n).sum()
        d = self._discrepancy(r.fed.labels[list(r.clients)])
        total = (self._discrepancy(r.fed.labels) if over_all else d).sum()
        if self.metric == "kl":
            d = d / total
        w = (n - self.a * d + self.b).relu()
        w = torch.where((total > 0) & (w > 0).any(), w, n)
        return w / w.sum()

    def _discrepancy(self, labels: Tensor) -> Tensor:
        """The distance of label counts (…, C) from the uniform distribution (…)."""
        classes = labels.shape[-1]
        q = labels / labels.sum(-1, keepdim=True)
        if self.metric == "l2":
            return (q - 1 / classes).square().sum(-1).sqrt()
        # Not q * classes: this is exactly 1 where labels are balanced
        relative = labels * classes / labels.sum(-1, keepdim=True)
        return torch.xlogy(q, relative).sum(-1).clamp(min=0)
