"""Test accuracy of given models: their mean, and per class."""

from collections.abc import Sequence

import torch
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.engine.problem import Problem


def mean_accuracy(problem: Problem, models: Sequence[Model]) -> float:
    """The models' mean accuracy on the test set, a fraction."""
    scorer = problem.scorers[""]
    return sum(scorer(model)["accuracy"] for model in models) / len(models)


def class_accuracy(problem: Problem, model: Model) -> Tensor:
    """A model's test accuracy per class (C,), float64; NaN for a class without test samples."""
    scorer = problem.scorers[""]
    y, predicted = scorer.y, scorer.logits(model).argmax(1)
    hits = torch.bincount(y[predicted == y], minlength=scorer.classes).double()
    return hits / torch.bincount(y, minlength=scorer.classes)
