"""Maps of test features in the plane (FedGKD paper, Fig. 2)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import Count, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.core.rng import torch_generator
from fedbench.engine.probe import Columns, Probe, Scene, Sight, require_classes
from fedbench.engine.problem import Problem
from fedbench.probes.scores import mean_accuracy


class Seen(NamedTuple):
    """A model's outputs for N samples: features (N, f) and predicted classes (N,)."""

    features: NDArray[np.float64]
    predicted: NDArray[np.int64]


@dataclass(frozen=True)
class Embedding(Probe):
    """t-SNE of the test features of the global model and of a client's, after the last round.

    FedGKD paper, Fig. 2. Features are the classifier's inputs, for a fixed subset of the test set;
    the two models are mapped separately. The local model is that of the cohort's first client.
    Table: model ('global', 'local'), its accuracy on the whole test set, x, y, label, predicted.
    Columns: local_accuracy, the mean of the cohort's models on the whole test set; silhouette and
    silhouette_local, of the features grouped by label. Cost: a pass through the test set for each
    client of the cohort and two more, and t-SNE twice.
    """

    COLUMNS: ClassVar[Columns] = {
        "local_accuracy": (
            "Accuracy of a client's model, mean over the round's clients",
            "fraction",
            "higher",
        ),
        "silhouette": ("Silhouette score", "", "higher"),
        "silhouette_local": ("Silhouette score of a client's model", "", "higher"),
    }
    TABLE: ClassVar[Columns] = {
        "model": ("Model", "", ""),
        "accuracy": ("Accuracy", "fraction", "higher"),
        "x": ("First coordinate", "", ""),
        "y": ("Second coordinate", "", ""),
        "label": ("Class", "", ""),
        "predicted": ("Predicted class", "", ""),
    }

    samples: Count = 1000  # largest number of test samples
    perplexity: Positive = 30.0

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without classes, without a head, or with too little to map."""
        require_classes(self, problem)
        if not problem.task.net.has_head:
            raise FedbenchError(
                "watch: embedding maps the inputs of the classifier; it needs a module with "
                "children body and head"
            )
        samples = min(self.samples, len(problem.data.y_test))
        width = problem.task.net.features
        if samples < 2 or width == 1:
            raise FedbenchError(
                f"watch: embedding needs two test samples and two features; there are {samples} "
                f"and {width}"
            )

    def see(self, s: Scene) -> Sight:
        """Map both models at the last round."""
        if not s.last:
            return Sight({}, [])
        scorer, spec = s.problem.scorers[""], s.problem.spec
        rng = torch_generator(spec.seed, seeds.ALWAYS, seeds.EVERYONE, "probe embedding")
        rows, _ = torch.randperm(len(scorer.y), generator=rng)[: self.samples].sort()
        labels = scorer.y[rows.to(s.problem.device)].cpu().numpy()
        models = {"global": s.scored, "local": s.local[0]}
        outputs = {name: seen(s.problem, model, rows) for name, model in models.items()}
        columns = {
            "local_accuracy": mean_accuracy(s.problem, s.local),
            "silhouette": silhouette(outputs["global"].features, labels),
            "silhouette_local": silhouette(outputs["local"].features, labels),
        }
        maps = []
        for name, (features, predicted) in outputs.items():
            x, y = plane(features, self.perplexity, s.number(name)).T
            plotted = {"model": name, "x": x, "y": y, "label": labels, "predicted": predicted}
            accuracy = mean_accuracy(s.problem, [models[name]])
            maps.append(pd.DataFrame(plotted).assign(accuracy=accuracy))
        found: list[Any] = pd.concat(maps).to_dict("records")
        return Sight(columns, found)


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
