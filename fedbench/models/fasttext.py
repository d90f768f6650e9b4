"""fastText: a linear classifier of the mean of a text's word vectors."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead

_DRAWN = 0.5  # weights lie between − and + this


@dataclass(frozen=True)
class FastText(Architecture):
    """Words → mean of their vectors → classes (Joulin et al., EACL 2017), without n-grams.

    10·V + 11·C parameters with a vocabulary of V tokens. All weights are drawn uniformly from ±0.5
    and the bias is 0, as in PyTorch's tutorial on text classification, since from the ±1/dim and 0
    of the authors' code clients that take few steps hardly move. Rates of SGD are large: 1 to 10.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 55_000.0  # trained on one core at 64 tokens, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (100.0, 1.0)  # see plan/train_jobs.py

    dim: Count = 10

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the mean vector of a text, `dim` numbers."""
        if not inputs.vocabulary:
            raise FedbenchError(f"FastText: samples of shape {inputs.shape} are not texts")
        head = nn.Linear(self.dim, inputs.outputs)
        nn.init.uniform_(head.weight, -_DRAWN, _DRAWN)
        nn.init.zeros_(head.bias)
        return BodyHead(_MeanVector(inputs.vocabulary, self.dim), head)


class _MeanVector(nn.Module):
    """From token ids (B, tokens) to the mean of their vectors (B, dim); id 0 is padding."""

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(vocabulary, dim)
        nn.init.uniform_(self.vectors.weight, -_DRAWN, _DRAWN)

    def forward(self, ids: Tensor) -> Tensor:
        words = (ids != 0).to(self.vectors.weight.dtype).unsqueeze(-1)
        mean: Tensor = (self.vectors(ids) * words).sum(1) / words.sum(1).clamp(min=1)
        return mean
