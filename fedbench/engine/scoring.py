"""Losses of samples, and scores of a model on a data set."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.core.flat import Model, Net


def cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    """−log softmax(z)_y, (B,)."""
    return F.cross_entropy(z, y, reduction="none")


def half_squared_error(z: Tensor, y: Tensor) -> Tensor:
    """½ (z − y)², (B,): its gradient is z − y, which is easy to follow by hand."""
    return 0.5 * (z.squeeze(-1) - y) ** 2


Scores = dict[str, float]


@dataclass(frozen=True)
class Scorer:
    """Evaluates models on fixed rows: mean loss, and with classes accuracy and macro-F1.

    Fractions, not percent. A model whose outputs are not numbers predicts class 0, as argmax does.
    """

    net: Net
    x: Tensor
    y: Tensor
    classes: int
    loss: Callable[[Tensor, Tensor], Tensor]
    prepare: Callable[[Tensor], Tensor]
    batch: int = 500

    def __call__(self, model: Model) -> Scores:
        """{'loss': …, 'accuracy': …, 'macro_f1': …}."""
        logits = self.logits(model)
        scores = {"loss": float(self.loss(logits, self.y).double().mean())}
        if self.classes:
            scores |= classification(logits.argmax(1), self.y, self.classes)
        return scores

    def logits(self, model: Model) -> Tensor:
        """Logits of every row (N, C)."""
        with torch.inference_mode():
            pieces = torch.split(self.x, self.batch)
            return torch.cat([self.net.eval(model, self.prepare(piece))[0] for piece in pieces])


def classification(predicted: Tensor, y: Tensor, classes: int) -> Scores:
    """Accuracy and the unweighted mean over classes of F1 = 2·hits/(predicted + true).

    A class neither predicted nor present counts as in scikit-learn: it is left out.
    """
    hits = torch.bincount(y[predicted == y], minlength=classes).double()
    total = torch.bincount(y, minlength=classes) + torch.bincount(predicted, minlength=classes)
    present = total > 0
    f1 = 2 * hits[present] / total[present]
    return {"accuracy": float(hits.sum() / len(y)), "macro_f1": float(f1.mean())}
