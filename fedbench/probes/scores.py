"""Scores on the test set: accuracies of given models, and the probes of other scores."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Model
from fedbench.engine.probe import Cells, Columns, OfClasses, Probe, Scene, Sight
from fedbench.engine.problem import Problem, predictions


def mean_accuracy(problem: Problem, models: Sequence[Model]) -> float:
    """The models' mean accuracy on the test set, a fraction."""
    scorer = problem.scorers[""]
    return sum(scorer(model)["accuracy"] for model in models) / len(models)


def class_accuracy(problem: Problem, model: Model) -> Tensor:
    """A model's test accuracy per class (C,), float64; NaN for a class without test samples."""
    scorer = problem.scorers[""]
    y, predicted = scorer.y, predictions(scorer.logits(model))
    hits = torch.bincount(y[predicted == y], minlength=scorer.classes).double()
    return hits / torch.bincount(y, minlength=scorer.classes)


def accuracy_at(problem: Problem, model: Model, clients: Sequence[int]) -> Tensor:
    """A model's accuracy at these clients: on their own test samples, if the data have them.

    Else it is Σ_c q_ic a_c, where q_ic is the share of class c at client i and a_c its accuracy;
    classes without test samples are left out. NaN for a client that cannot be tested.
    """
    if problem.own_test is None:
        per_class, counts = class_accuracy(problem, model), problem.fed.labels
        tested = ~per_class.isnan()
        held = counts[torch.as_tensor(clients, device=counts.device)][:, tested].double()
        return held @ per_class[tested] / held.sum(1)
    scorer, rows = problem.own_test
    right = (predictions(scorer.logits(model)) == scorer.y).double()
    return torch.stack([right[rows[i]].mean() for i in clients])


class OfTestedClients(OfClasses):
    """A probe of clients, without those of whom nothing is in the test set."""

    def require(self, problem: Problem) -> None:
        """Warn of clients that are left out; raise `FedbenchError` if all are, or no classes."""
        super().require(problem)
        name, clients = type(self).__name__.lower(), problem.fed.K
        if problem.own_test is None:
            tested = np.unique(problem.scorers[""].y.cpu().numpy())
            left_out = int((problem.label_counts[:, tested].sum(axis=1) == 0).sum())
            why = "hold only classes of which the test set has no sample"
        else:
            left_out = sum(not len(rows) for rows in problem.own_test.rows)
            why = "have no test sample of their own"
        if left_out == clients:
            said = f"watch: {name} has nothing to measure"
            raise FedbenchError(f"{said}: all {clients} clients {why}")
        if left_out:
            said = f"{name}: {left_out} of {clients} clients {why}"
            warnings.warn(f"{said}; they are left out", stacklevel=2)


def worst_tenth(accuracies: Tensor) -> Tensor:
    """The mean of the lowest tenth, of at least one; NaN is left out."""
    sound = accuracies[~accuracies.isnan()].sort().values
    return sound[: math.ceil(len(sound) / 10)].mean()


@dataclass(frozen=True)
class Binary(Probe):
    """AUC, precision and recall of the scored model on a test set of two classes.

    Class 1 is the positive one, the second of a file's labels in sorted order. Columns, at every
    evaluated round: auc, the probability that a positive sample has a larger output z_1 − z_0 than
    a negative one, ties counting half (NaN if an output is not finite, or a class has no sample);
    precision_score, the share of positives among what is called positive (0 if nothing is);
    recall_score, the share of positives that are called so; specificity, the same of negatives.
    Table, at the last round: label, predicted, count. Cost: a pass through the test set.
    """

    COLUMNS: ClassVar[Columns] = {
        "auc": ("AUC", "fraction", "higher"),
        "precision_score": ("Precision", "fraction", "higher"),
        "recall_score": ("Recall", "fraction", "higher"),
        "specificity": ("Specificity", "fraction", "higher"),
    }
    TABLE: ClassVar[Columns] = {
        "label": ("Class", "", ""),
        "predicted": ("Predicted class", "", ""),
        "count": ("Test samples", "", ""),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` unless the data have two classes."""
        if problem.fed.classes != 2:
            told = f"data set '{problem.data.name}' has {problem.fed.classes or 'no classes'}"
            raise FedbenchError(f"watch: binary needs two classes, but {told}")

    def see(self, s: Scene) -> Sight:
        """Measure the scored model in evaluated rounds."""
        if not s.evaluated:
            return Sight({}, [])
        scorer = s.problem.scorers[""]
        columns, held = of_two_classes(scorer.y.cpu(), scorer.logits(s.scored).double().cpu())
        rows: list[Cells] = [
            {"label": i, "predicted": j, "count": held[i][j]} for i in (0, 1) for j in (0, 1)
        ]
        return Sight(columns, rows if s.last else [])


def of_two_classes(y: Tensor, z: Tensor) -> tuple[dict[str, float], list[list[int]]]:
    """The columns of `Binary`, and how many of class i are called j, by the outputs z (N, 2)."""
    from sklearn import metrics  # only here, as it takes a second

    predicted, margin = predictions(z), z[:, 1] - z[:, 0]
    called = torch.where(predicted < 2, predicted, 1 - y)  # what is called nothing is wrong
    (tn, fp), (fn, tp) = held = metrics.confusion_matrix(y, called, labels=[0, 1]).tolist()
    sound = margin.isfinite().all() and 0 < tp + fn < len(y)
    columns = {
        "auc": float(metrics.roc_auc_score(y, margin)) if sound else math.nan,
        "precision_score": tp / max(1, tp + fp),
        "recall_score": tp / max(1, tp + fn),
        "specificity": tn / max(1, tn + fp),
    }
    return columns, held


@dataclass(frozen=True)
class Regression(Probe):
    """MSE, MAE and R² of the scored model on the test set of data whose labels are numbers.

    Columns, at every evaluated round: mse, the mean of (z − y)², in squared units of the labels;
    mae, the mean of |z − y|; r2 = 1 − mse / variance of the test labels, which is 0 for a model
    that always gives their mean. The history's `loss` is half of mse. Cost: a pass through the test
    set.
    """

    COLUMNS: ClassVar[Columns] = {
        "mse": ("Mean squared error", "", "lower"),
        "mae": ("Mean absolute error", "", "lower"),
        "r2": ("R²", "", "higher"),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have classes."""
        if problem.fed.classes:
            told = f"data set '{problem.data.name}' has classes"
            raise FedbenchError(f"watch: regression needs numbers for labels, but {told}")

    def row(self, s: Scene) -> dict[str, float]:
        """The scores of the model whose loss is the run's."""
        scorer = s.problem.scorers[""]
        y = scorer.y.double()
        error = scorer.logits(s.scored).double().squeeze(-1) - y
        mse = float((error**2).mean())
        spread = float(y.var(correction=0))
        r2 = 1 - mse / spread if spread else float("nan")
        return {"mse": mse, "mae": float(error.abs().mean()), "r2": r2}
