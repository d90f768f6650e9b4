"""How far the label distributions of clients differ."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.special import entr


def size_spread(counts: NDArray[np.int64]) -> float:
    """Divide the standard deviation of the clients' sizes by their mean: 0 if all are equal."""
    sizes = counts.sum(axis=1)
    return float(sizes.std() / sizes.mean())


def label_skew(counts: NDArray[np.int64]) -> float:
    """The mean total variation between clients' label distributions and that of all samples."""
    overall = counts.sum(axis=0) / counts.sum()
    return float(np.abs(_shares(counts) - overall).sum(axis=1).mean() / 2)


def pairwise_skew(counts: NDArray[np.int64]) -> float:
    """The total variation between the label distributions of two clients, averaged over pairs."""
    distances = pdist(_shares(counts), "cityblock") / 2
    return float(distances.mean()) if len(distances) else 0.0


def label_divergence(counts: NDArray[np.int64]) -> float:
    """The Jensen–Shannon divergence of all clients' label distributions, in bits.

    The entropy of their mean minus the mean of their entropies (Lin, IEEE Trans. Inf. Theory 1991):
    what the label of a sample tells about the client that holds it.
    """
    shares = _shares(counts)
    return float(max(0.0, _entropy(shares.mean(axis=0)) - _entropy(shares).mean()))


def effective_classes(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many equally frequent classes would have each client's label entropy (Hill, 1973)."""
    return np.exp2(_entropy(_shares(counts)))


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    bits: NDArray[np.float64] = entr(shares).sum(axis=-1) / np.log(2)
    return bits
