"""Maps in the plane: of test features, and of what models predict there (FedGKD, Figs. 2 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import torch
from annotated_types import Ge
from numpy.typing import NDArray
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import Count, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Model
from fedbench.core.rng import torch_generator
from fedbench.engine.probe import Cells, Columns, OfClasses, Scene, Sight
from fedbench.engine.problem import Problem
from fedbench.probes.scores import mean_accuracy

_PIECE = 10_000  # points of the plane per pass


@dataclass(frozen=True)
class Embedding(OfClasses):
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
            "Accuracy of a client's model, mean over the round's clients", "fraction", "higher",
        ),
        "silhouette": ("Silhouette score", "", "higher"),
        "silhouette_local": ("Silhouette score of a client's model", "", "higher"),
    }  # fmt: skip
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
        super().require(problem)
        if not problem.task.net.has_head:
            raise FedbenchError("watch: embedding needs a module with children body and head")
        samples = min(self.samples, len(problem.data.y_test))
        width = problem.task.net.features
        if samples < 2 or width == 1:
            told = f"there are {samples} and {width}"
            raise FedbenchError(f"watch: embedding needs two test samples and two features; {told}")

    def see(self, s: Scene) -> Sight:
        """Map both models at the last round."""
        if not s.last:
            return Sight({}, [])
        scorer, spec = s.problem.scorers[""], s.problem.spec
        rng = torch_generator(spec.seed, seeds.ALWAYS, seeds.EVERYONE, "probe embedding")
        rows, _ = torch.randperm(len(scorer.y), generator=rng)[: self.samples].sort()
        labels = scorer.y[rows.to(s.problem.device)].cpu().numpy()
        columns, found = {"local_accuracy": mean_accuracy(s.problem, s.local)}, list[Any]()
        for name, of, model in (("global", "", s.scored), ("local", "_local", s.local[0])):
            logits, out = s.problem.task.outputs(model, scorer.x[rows.to(s.problem.device)])
            features, predicted = out.flatten(1).double().cpu().numpy(), logits.argmax(1).cpu()
            columns[f"silhouette{of}"] = silhouette(features, labels)
            x, y = plane(features, self.perplexity, s.number(name)).T
            plotted = {"model": name, "x": x, "y": y, "label": labels, "predicted": predicted}
            table = pd.DataFrame(plotted).assign(accuracy=mean_accuracy(s.problem, [model]))
            found += table.to_dict("records")
        return Sight(columns, found)


def plane(features: NDArray[np.float64], perplexity: float, seed: int) -> NDArray[np.float64]:
    """t-SNE (N, 2), started from principal components; perplexity is cut to (N − 1)/3.

    Features that are all equal, as those of a network that has collapsed, lie at one point.
    """
    if (features == features[0]).all():  # t-SNE would end the process
        return np.zeros((len(features), 2))
    from sklearn.manifold import TSNE  # only here, as it takes a second

    perplexity = min(perplexity, (len(features) - 1) / 3)
    map_ = TSNE(2, perplexity=perplexity, init="pca", random_state=seed % 2**32, n_jobs=1)
    points: NDArray[np.float64] = map_.fit_transform(features)
    return points


def silhouette(features: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Mean silhouette of features by label, −1…1; NaN if all labels are equal or all differ."""
    from sklearn.metrics import silhouette_score

    if not 1 < len(np.unique(labels)) < len(labels):
        return float("nan")
    return float(silhouette_score(features, labels))


@dataclass(frozen=True)
class Regions(OfClasses):
    """Predictions of the cohort's models and the scored model in the plane, at the last round.

    FedGKD paper, Fig. 5; for samples of two numbers. Table: model ('client 0', …, 'global' for the
    scored model), kind ('grid', or 'point' for a client's training sample), x1, x2, predicted,
    label (−1 on the grid). Cost: grid² samples forward per model.
    """

    TABLE: ClassVar[Columns] = {
        "model": ("Model", "", ""),
        "kind": ("Grid or sample", "", ""),
        "x1": ("First coordinate", "", ""),
        "x2": ("Second coordinate", "", ""),
        "predicted": ("Predicted class", "", ""),
        "label": ("Class", "", ""),
    }

    grid: Annotated[int, Ge(2)] = 100  # points per side
    reach: Positive = 4.0  # the grid covers (−reach, reach)²

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without classes, or if samples are not two numbers."""
        super().require(problem)
        if problem.data.shape != (2,) or problem.data.vocabulary:
            told = f"samples of '{problem.data.name}' have shape {problem.data.shape}, not (2,)"
            raise FedbenchError(f"watch: regions draws a plane, but {told}")

    def table(self, s: Scene) -> list[Cells]:
        """Return predictions on the grid for each model, and at each client's samples."""
        if not s.last:
            return []
        rows: list[Cells] = []
        points = mesh(self.grid, self.reach)
        unlabelled = torch.full((len(points),), -1)
        for i, model in zip(s.r.clients, s.local, strict=True):
            samples = s.problem.rows[i].to(s.problem.device)
            x, y = s.problem.task.x[samples], s.problem.task.y[samples]
            for kind, where, labels in (("grid", points, unlabelled), ("point", x, y)):
                about = {"model": f"client {i}", "kind": kind}
                rows += painted(s.problem, model, where, labels, about)
        about = {"model": "global", "kind": "grid"}
        return rows + painted(s.problem, s.scored, points, unlabelled, about)


def mesh(grid: int, reach: float) -> Tensor:
    """Points (grid², 2) of a grid over [−reach, reach]², ordered by x1, then by x2."""
    axis = torch.linspace(-reach, reach, grid, dtype=torch.float64)
    return torch.cartesian_prod(axis, axis)


def painted(
    problem: Problem, model: Model, points: Tensor, labels: Tensor, about: Mapping[str, str]
) -> list[Cells]:
    """One row per point (x1, x2), `about` in front, with the predicted class and the label."""
    predicted = problem.task.outputs(model, points.to(problem.device), _PIECE)[0].argmax(1)
    columns = zip(*points.T.tolist(), predicted.tolist(), labels.tolist(), strict=True)
    names = ("x1", "x2", "predicted", "label")
    return [{**about, **dict(zip(names, x, strict=True))} for x in columns]
