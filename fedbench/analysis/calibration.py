"""Personalisation: every client tunes the trained model's last layer on its own data.

FedADC paper, section IV-D and Fig. 7. Each client copies x_T, freezes all but the classifier and
trains it for two epochs on its training share; it is scored on its own test share. The training
images are taken as they are, without the run's crops and flips, so that the frozen body sees each
of them once (the paper does not say whether they were augmented).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fedbench.base import registry, seeds
from fedbench.base.checked import Checked, Natural, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model, Net
from fedbench.core.part import Part, refuse_conflicts
from fedbench.data.partition import Indices
from fedbench.data.shares import mirror
from fedbench.engine.inputs import images
from fedbench.engine.local import RoundStart
from fedbench.engine.problem import Problem
from fedbench.engine.server import open_round, views
from fedbench.engine.turns import prepare
from fedbench.engine.workers import Workers
from fedbench.models.architecture import BodyHead
from fedbench.spec import Choice

# Fig. 7's three: no regularisation, a proximal term on the classifier, self-confidence distillation
MODES = {
    "none": (),
    "prox": (Choice(name="fedprox", params={"mu": 0.01}),),  # grid 0.1, 0.01, 0.001
    "self-kd": (Choice(name="selfconfidence", params={"lam": 0.35}),),
}


@dataclass(frozen=True)
class Calibration(Checked):
    """How a client tunes its classifier; batch, optimiser, weight decay and clip are the run's.

    lr: the run's first if null (grid 0.1, 0.05, 0.03, 0.01), constant. test_split 'mirrored'
    divides each class's test samples as its training samples were; 'independent' draws the run's
    partition anew for the test set, as the author's library does.
    """

    epochs: Natural = 2  # 0 leaves every client with x_T
    lr: Positive | None = None
    test_split: Literal["mirrored", "independent"] = "mirrored"


@dataclass(frozen=True)
class Calibrated:
    """What calibration gives, accuracies as fractions.

    clients: one row per client with train_samples, test_samples, accuracy and global_accuracy,
    x_T's on the same share (not a number where the share is empty); test_accuracy: x_T's on the
    whole test set; heads: every client's classifier (K, d_head).
    """

    clients: pd.DataFrame
    test_accuracy: float
    heads: Tensor

    def summary(self) -> dict[str, float]:
        """Unweighted means over the clients that have test samples, and the gains over x_T."""
        scored = self.clients[self.clients["test_samples"] > 0]
        own, global_model = (
            float(scored["accuracy"].mean()),
            float(scored["global_accuracy"].mean()),
        )
        return {
            "accuracy": own,
            "global_accuracy": global_model,
            "test_accuracy": self.test_accuracy,
            "gain_on_shares": own - global_model,
            "gain_over_test_accuracy": own - self.test_accuracy,
            "clients": len(scored),
            "excluded": len(self.clients) - len(scored),
        }


def require_classifier(problem: Problem) -> None:
    """Raise `FedbenchError` if the model has no last layer to tune, or the data no classes."""
    if not problem.task.net.has_head or not problem.fed.classes:
        raise FedbenchError(
            "calibration needs a classifier: data with classes and a module with children body "
            "and head"
        )


def mode(name: str) -> tuple[Part, ...]:
    """The parts of one of Fig. 7's three modes."""
    return tuple(registry.build("method", part.name, part.params) for part in MODES[name])


def calibrate(
    problem: Problem,
    global_model: Model,
    parts: Sequence[Part] = (),
    how: Calibration = Calibration(),  # frozen
) -> Calibrated:
    """Tune every client's classifier from x_T = `global_model` with the local terms of `parts`."""
    require_classifier(problem)
    small = _on_features(problem, global_model, parts, how)
    heads = _tuned(small) if how.epochs else small.fed.start.w.expand(problem.spec.clients, -1)
    x = problem.task.outputs(global_model, images(problem.data.x_test, problem.device))[1]
    y = torch.as_tensor(problem.data.y_test, device=problem.device)
    right = _right(small, small.fed.start.w, x, y)
    rows = [
        {
            "client": i,
            "train_samples": len(problem.rows[i]),
            "test_samples": len(share),
            "accuracy": _mean(_right(small, heads[i], x[share], y[share])),
            "global_accuracy": _mean(right[share]),
        }
        for i, share in enumerate(shares(problem, how.test_split))
    ]
    return Calibrated(pd.DataFrame(rows), _mean(right), heads)


def shares(problem: Problem, split: Literal["mirrored", "independent"]) -> list[Indices]:
    """Each client's rows of the test set; the data seed draws them."""
    seed, choice = problem.spec.partition_seed, problem.spec.partition
    rng = seeds.numpy_generator(seed, seeds.ALWAYS, seeds.EVERYONE, "test shares")
    if split == "mirrored":
        counts = problem.fed.labels.cpu().long().numpy()
        return mirror(counts, problem.data.y_test.astype(np.int64), rng)
    scheme = registry.build("partition", choice.name, choice.params)
    found: list[Indices] = scheme(problem.data.y_test, problem.spec.clients, rng)
    return found


def _on_features(
    problem: Problem, global_model: Model, parts: Sequence[Part], how: Calibration
) -> Problem:
    """The same clients with the body's features for samples and the classifier for a model.

    The body is frozen and in evaluation mode, so its features are computed once.
    """
    refuse_conflicts(parts)
    net, lr = problem.task.net, how.lr or problem.spec.lr
    work = {"epochs": how.epochs or 1, "steps": None, "lr": lr, "lr_decay": 1.0, "augment": None}
    spec = problem.spec.changed(**work)
    head = Net(BodyHead(nn.Identity(), net.module().get_submodule("head")))
    own, decays = net.head_mask().to(global_model.w.device), problem.task.decays
    start = Model(global_model.w[own], {})
    task = replace(
        problem.task,
        net=head,
        parts=tuple(parts),
        x=problem.task.outputs(global_model, problem.task.x)[1],
        prepare=lambda x: x,
        decays=None if decays is None else decays[own],
    )
    fed = replace(problem.fed, net=head, d=head.d, start=start, lr=spec.lr)
    return replace(problem, spec=spec, task=task, fed=fed)


def _tuned(small: Problem) -> Tensor:
    """Every client's classifier (K, d) after its local epochs."""
    parts, start, fed = small.task.parts, small.fed.start, small.fed
    r = open_round(small, start, small.spec.rounds)  # the first round that no training has used
    rounds = views(small, r, [part.server(start.w, fed) for part in parts])
    messages = [part.send(view) for part, view in zip(parts, rounds, strict=True)]
    kept = [part.client(start.w, fed) for part in parts]
    clients = [prepare(small, r, i, messages, kept) for i in range(small.spec.clients)]
    replies = Workers(small.task, 1).train(RoundStart(start, small.spec.lr), clients)
    return torch.stack([reply.w for reply in replies])


def _right(small: Problem, head: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Which samples a classifier gets right (N,)."""
    with torch.no_grad():
        return small.task.net.eval(Model(head, {}), x)[0].argmax(1) == y


def _mean(right: Tensor) -> float:
    return float(right.double().mean())
