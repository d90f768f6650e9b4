"""Plane maps of a model's features (FedGKD paper, Fig. 2)."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.engine.problem import Problem

_CHUNK = 500  # samples a pass


class Seen(NamedTuple):
    """What a model makes of samples: features (N, f) and predicted classes (N,)."""

    features: NDArray[np.float64]
    predicted: NDArray[np.int64]


def seen(problem: Problem, model: Model, rows: Tensor) -> Seen:
    """What the head sees of these rows of the test set, and what it says."""
    scorer = problem.scorers[""]
    with torch.inference_mode():
        pieces = torch.split(scorer.x[rows.to(problem.device)], _CHUNK)
        found = [scorer.net.eval(model, scorer.prepare(piece)) for piece in pieces]
    features = torch.cat([f.flatten(1) for _, f in found]).double().cpu().numpy()
    return Seen(features, torch.cat([z.argmax(1) for z, _ in found]).cpu().numpy())


def plane(features: NDArray[np.float64], perplexity: float, seed: int) -> NDArray[np.float64]:
    """t-SNE (N, 2), from the principal components; the perplexity is at most (N − 1)/3."""
    perplexity = min(perplexity, (len(features) - 1) / 3)
    map_ = TSNE(2, perplexity=perplexity, init="pca", random_state=seed % 2**32, n_jobs=1)
    found: NDArray[np.float64] = map_.fit_transform(features)
    return found


def silhouette(features: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Mean silhouette of the features by label, −1…1; not a number with one label, or all own."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return float("nan")
    return float(silhouette_score(features, labels))
