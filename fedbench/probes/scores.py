"""Test accuracy of given models: their mean, per class, and as each client would see it."""

import math
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.engine.probe import Probe, require_classes
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


def client_accuracy(counts: Tensor, per_class: Tensor) -> Tensor:
    """A model's accuracy at each client (K,): Σ_c q_ic a_c, q_ic the share of class c at client i.

    It is what the client would measure on test data with the class shares of its training data.
    counts: label counts (K, C); per_class: accuracies a_c (C,). Classes without test samples are
    left out; NaN for a client that has no other.
    """
    tested = ~per_class.isnan()
    held = counts[:, tested].double()
    return held @ per_class[tested] / held.sum(1)


def accuracy_at(problem: Problem, model: Model, clients: Sequence[int]) -> Tensor:
    """A model's accuracy at these clients: on their own test samples, if the data have them.

    Else it is that of `client_accuracy`. NaN for a client that cannot be tested.
    """
    if problem.own_test is None:
        held = problem.fed.labels[torch.as_tensor(clients, device=problem.fed.labels.device)]
        return client_accuracy(held, class_accuracy(problem, model))
    scorer, rows = problem.own_test
    right = (predictions(scorer.logits(model)) == scorer.y).double()
    return torch.stack([right[rows[i]].mean() for i in clients])


def require_tested(probe: Probe, problem: Problem) -> None:
    """Warn of clients that the probe leaves out, as nothing of theirs is in the test set.

    Raises `FedbenchError` if it leaves out all clients, or if the data have no classes.
    """
    require_classes(probe, problem)
    name, clients = type(probe).__name__.lower(), problem.fed.K
    if problem.own_test is None:
        tested = np.unique(problem.scorers[""].y.cpu().numpy())
        left_out = int((problem.label_counts[:, tested].sum(axis=1) == 0).sum())
        why = "hold only classes of which the test set has no sample"
    else:
        left_out = sum(not len(rows) for rows in problem.own_test.rows)
        why = "have no test sample of their own"
    if left_out == clients:
        raise FedbenchError(f"watch: {name} has nothing to measure: all {clients} clients {why}")
    if left_out:
        warnings.warn(
            f"{name}: {left_out} of {clients} clients {why}; they are left out", stacklevel=2
        )


def worst_tenth(accuracies: Tensor) -> Tensor:
    """The mean of the lowest tenth, of at least one; NaN is left out."""
    sound = accuracies[~accuracies.isnan()].sort().values
    return sound[: math.ceil(len(sound) / 10)].mean()
