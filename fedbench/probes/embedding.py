"""A plane map of test features."""

from dataclasses import dataclass

from fedbench.checked import Count, Positive
from fedbench.probe import Probe


@dataclass(frozen=True)
class Embedding(Probe):
    """t-SNE of test features of the global model and of a client's, after the last round."""

    samples: Count = 1000  # test samples, at most
    perplexity: Positive = 30.0
