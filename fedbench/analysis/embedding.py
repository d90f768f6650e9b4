"""Maps of a model's features in the plane (FedGKD paper, Fig. 2)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.engine.problem import Problem


class Seen(NamedTuple):
    """A model's outputs for N samples: features (N, f) and predicted classes (N,)."""

    features: NDArray[np.float64]
    predicted: NDArray[np.int64]


def seen(problem: Problem, model: Model, rows: Tensor) -> Seen:
    """A model's features and predictions for these rows of the test set."""
    logits, features = problem.task.outputs(model, problem.scorers[""].x[rows.to(problem.device)])
    return Seen(features.flatten(1).double().cpu().numpy(), logits.argmax(1).cpu().numpy())


def plane(features: NDArray[np.float64], perplexity: float, seed: int) -> NDArray[np.float64]:
    """t-SNE (N, 2), started from principal components; perplexity is cut to (N − 1)/3."""
    perplexity = min(perplexity, (len(features) - 1) / 3)
    map_ = TSNE(2, perplexity=perplexity, init="pca", random_state=seed % 2**32, n_jobs=1)
    points: NDArray[np.float64] = map_.fit_transform(features)
    return points


def silhouette(features: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Mean silhouette of features by label, −1…1; NaN if all labels are equal or all differ."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return float("nan")
    return float(silhouette_score(features, labels))
