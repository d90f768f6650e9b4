"""Losses per sample, and the scores of a model on a data set."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.core.flat import Model
from fedbench.engine.local import LocalTask


def cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy −log softmax(z)_y of logits z (B, C), one value per sample (B,)."""
    return F.cross_entropy(z, y, reduction="none")


def half_squared_error(z: Tensor, y: Tensor) -> Tensor:
    """½ (z − y)² (B,), the loss for labels without classes; its gradient is z − y."""
    return 0.5 * (z.squeeze(-1) - y) ** 2


Scores = dict[str, float]


@dataclass(frozen=True)
class Scorer:
    """Computes the mean loss of models on samples x, y, and with classes accuracy and macro-F1.

    Accuracy and macro-F1 are fractions. Outputs that are not finite hit no class.
    """

    task: LocalTask
    x: Tensor
    y: Tensor
    classes: int

    def __call__(self, model: Model) -> Scores:
        """The scores {'loss': …, 'accuracy': …, 'macro_f1': …}; without classes the loss only."""
        logits = self.logits(model)
        scores = {"loss": self._loss(logits)}
        if self.classes:
            scores |= classification(predictions(logits), self.y, self.classes)
        return dict(zip(scores, torch.stack(list(scores.values())).tolist(), strict=True))

    def loss(self, model: Model) -> Tensor:
        """The mean loss (scalar), in double precision."""
        return self._loss(self.logits(model))

    def logits(self, model: Model) -> Tensor:
        """The logits of all samples (N, C)."""
        return self.task.outputs(model, self.x)[0]

    def _loss(self, logits: Tensor) -> Tensor:
        return self.task.loss(logits, self.y).double().mean()


def predictions(logits: Tensor) -> Tensor:
    """The class that each sample's logits (N, C) name; C, which is none, if they are not finite."""
    return torch.where(logits.isfinite().all(1), logits.argmax(1), logits.shape[1])


def classification(predicted: Tensor, y: Tensor, classes: int) -> dict[str, Tensor]:
    """Accuracy, and the unweighted mean over classes of F1 = 2·hits/(predicted + true), as scalars.

    A class that is neither predicted nor present is left out, as in scikit-learn. `predicted` may
    hold `classes` for a sample of which no class was predicted.
    """
    hits = torch.bincount(y[predicted == y], minlength=classes).double()
    named = torch.bincount(predicted, minlength=classes)[:classes]
    total = torch.bincount(y, minlength=classes) + named
    f1 = 2 * hits / total.clamp(min=1)
    return {"accuracy": hits.sum() / len(y), "macro_f1": f1.sum() / (total > 0).sum()}
