"""FedUV: probabilities that vary over a batch, and features spread out, as with IID data."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative
from fedbench.core.part import Part
from fedbench.core.round_data import Batch, Turn


@dataclass(frozen=True)
class FedUV(Part):
    """Add λ V + μ U, V the lack of variance in the classifier's outputs, U that of uniformity.

    V = (1/C) Σ_c max(0, 1/√C − s_c), s_c the deviation of class c's probability over the batch;
    1/√C is that of C one-hot vectors, one a class. U is the mean of exp(−‖h_i − h_j‖²/σ) over pairs
    of the batch's features, σ the median of their squared distances that are not 0. Son et al.,
    "FedUV: Uniformity and Variance for Heterogeneous Federated Learning", CVPR 2024. The details
    of V and U are the released code's: features of any length, deviations over B − 1, a gradient
    through σ, and a default λ for ten classes; only of a batch of one sample, where its terms are
    no numbers, there are none here.
    """

    needs_classes = True
    needs_head = True

    lam: NonNegative = 2.5  # λ, of the variance; 0 with μ = 0 is FedAvg
    mu: NonNegative = 0.5  # μ, of the uniformity

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + λ V + μ U."""
        if len(b.y) < 2:  # Deviation: no terms; the released code has NaN
            return value
        return value + self.lam * _lack_of_variance(b.logits) + self.mu * _nearness(b.features)


def _lack_of_variance(z: Tensor) -> Tensor:
    """V of logits (B, C): how much the probabilities' deviations fall short of 1/√C."""
    short: Tensor = (z.shape[1] ** -0.5 - z.softmax(-1).std(0)).relu()
    return short.mean()


def _nearness(h: Tensor) -> Tensor:
    """U of features (B, …); 1, without a gradient, if they are all the same."""
    squares: Tensor = torch.pdist(h.flatten(1)).square()
    median = squares.masked_fill(squares == 0, torch.nan).nanmedian().nan_to_num(1.0)
    return (-squares / median).exp().mean()
