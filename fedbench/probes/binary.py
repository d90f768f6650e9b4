"""Scores of a test with two outcomes: AUC, precision, recall, and the confusion of the classes."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.engine.probe import Columns, Probe, Scene, Sight
from fedbench.engine.problem import Problem, predictions


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
            raise FedbenchError(
                f"watch: binary needs two classes, but data set '{problem.data.name}' has "
                f"{problem.fed.classes or 'no classes'}"
            )

    def see(self, s: Scene) -> Sight:
        """Measure the scored model in evaluated rounds."""
        if not s.evaluated:
            return Sight({}, [])
        scorer = s.problem.scorers[""]
        z = scorer.logits(s.scored).double()
        held = confusion(scorer.y, predictions(z))
        (tn, fp), (fn, tp) = held.tolist()
        columns = {
            "auc": area(z[:, 1] - z[:, 0], scorer.y == 1),
            "precision_score": tp / max(1, tp + fp),
            "recall_score": tp / max(1, tp + fn),
            "specificity": tn / max(1, tn + fp),
        }
        cells = [(label, predicted) for label in (0, 1) for predicted in (0, 1)]
        rows = [{"label": i, "predicted": j, "count": int(held[i, j])} for i, j in cells]
        return Sight(columns, [dict(row) for row in rows] if s.last else [])


def confusion(y: Tensor, predicted: Tensor) -> Tensor:
    """How many samples of class i are called j (2, 2); one of which nothing is called is wrong."""
    called = torch.where(predicted < 2, predicted, 1 - y)
    return torch.bincount(2 * y + called, minlength=4).view(2, 2)


def area(score: Tensor, positive: Tensor) -> float:
    """The area under the ROC curve: (Σ ranks of positives − P (P+1)/2)/(P N), with mean ranks."""
    P, N = int(positive.sum()), int((~positive).sum())
    if not P or not N or not score.isfinite().all():
        return float("nan")
    _, place, count = torch.unique(score, return_inverse=True, return_counts=True)
    last = count.cumsum(0)
    ranks = (last - (count.double() - 1) / 2)[place]
    return float((ranks[positive].sum() - P * (P + 1) / 2) / (P * N))
