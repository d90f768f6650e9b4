"""Calibration: each client trains the last layer of the final model on its own data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fedbench.base import registry, seeds
from fedbench.base.checks import Fraction, Natural, NonNegative, Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Model, Net
from fedbench.core.part import Part
from fedbench.core.part_conflicts import refuse_conflicts
from fedbench.data.partition import Indices, mirror
from fedbench.engine.probe import Columns, Probe, Scene, Sight
from fedbench.engine.problem import Problem, predictions
from fedbench.engine.rounds import copies_for_parts, open_round, prepare
from fedbench.engine.workers import Workers
from fedbench.methods.fedprox import FedProx
from fedbench.methods.selfconfidence import SelfConfidence
from fedbench.models.architecture import BodyHead
from fedbench.probes.scores import mean_accuracy
from fedbench.work.local_epochs import Constant


@dataclass(frozen=True)
class Calibration(Probe):
    """Personalised accuracy of the final model by classifier calibration (FedADC paper, Fig. 7).

    Table: client, kind, accuracy on the client's test share; clients with an empty share are left
    out. The kind 'global' is the scored model before calibration; 'none', 'prox' and 'distil' are
    after calibration without regularisation, with a proximal term, or with self-distillation.

    Columns, at the last round: personal_global, personal_none, personal_prox, personal_distil, the
    unweighted means over the clients of the table; personal_gain_lowest and personal_gain_highest,
    the gains of the other three over the first, as the paper prints them;
    personal_gain_whole_lowest and personal_gain_whole_highest, their gains over the scored model's
    accuracy on the whole test set; personal_clients, the number of clients in the table.
    Batch, optimiser, weight decay and clip are the run's. `test_split` 'mirrored' divides each
    class's test samples over clients as its training samples are divided; 'independent' applies the
    run's partition rule to the test set, as the author's library does. Where the data say whose
    test samples are, each client has its own.
    Cost: three times, training and test set once through the body, and `epochs` passes of every
    client's data through the classifier.
    """

    COLUMNS: ClassVar[Columns] = {
        "personal_global": ("Global model", "fraction", "higher"),
        "personal_none": ("Last layer retrained", "fraction", "higher"),
        "personal_prox": ("Retrained, proximal term", "fraction", "higher"),
        "personal_distil": ("Retrained, self-distillation", "fraction", "higher"),
        "personal_gain_lowest": ("Lowest gain", "fraction", "higher"),
        "personal_gain_highest": ("Highest gain", "fraction", "higher"),
        "personal_gain_whole_lowest": ("Lowest gain over the whole test set", "fraction", "higher"),
        "personal_gain_whole_highest": (
            "Highest gain over the whole test set", "fraction", "higher",
        ),
        "personal_clients": ("Clients with a test share", "", ""),
    }  # fmt: skip
    TABLE: ClassVar[Columns] = {
        "client": ("Client", "", ""),
        "kind": ("Calibration", "", ""),
        "accuracy": ("Accuracy on the client's test share", "fraction", "higher"),
    }

    epochs: Natural = 2  # with 0, every client has x_T
    lr: Positive | None = None  # null: the run's first; the paper's grid is 0.1, 0.05, 0.03, 0.01
    mu: NonNegative = 0.01  # of the proximal term; the paper's grid is 0.1, 0.01, 0.001
    lam: Fraction = 0.35  # of the self-confidence distillation
    test_split: Literal["mirrored", "independent"] = "mirrored"

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the model has no classifier, or the test set cannot be split."""
        if not problem.task.net.has_head or not problem.fed.classes:
            needs = "classes, and children body and head"
            raise FedbenchError(f"calibration needs a classifier: {needs}")
        net = problem.task.net
        if any(k.startswith("head.") for k in net.start().buffers) or not net.head_mask().any():
            raise FedbenchError("calibration needs a trained classifier without batch norm")
        if problem.spec.shift and self.test_split == "independent":
            why = "with a shift each client's test samples are drawn as its training samples lie"
            raise FedbenchError(f"calibration: test_split = 'independent' is not allowed: {why}")
        if not any(map(len, shares(problem, self.test_split))):
            raise FedbenchError("calibration: no client has samples of the test set")

    def see(self, s: Scene) -> Sight:
        """Measure all kinds at the last round."""
        if not s.last:
            return Sight({}, [])
        kinds = {"none": (), "prox": (FedProx(self.mu),), "distil": (SelfConfidence(self.lam),)}
        found = {k: calibrate(s.problem, s.scored, p, self)[0] for k, p in kinds.items()}
        accuracy = {"global": found["none"]["global_accuracy"]}
        accuracy |= {kind: clients["accuracy"] for kind, clients in found.items()}
        wide = pd.DataFrame(accuracy).rename_axis("client").reset_index()
        table = wide.melt("client", var_name="kind", value_name="accuracy").dropna()
        means = {str(kind): float(each.mean()) for kind, each in table.groupby("kind")["accuracy"]}
        columns = {f"personal_{kind}": mean for kind, mean in means.items()}
        calibrated = [means[kind] for kind in found]
        before = {"": means["global"], "_whole": mean_accuracy(s.problem, [s.scored])}
        for of, start in before.items():
            columns[f"personal_gain{of}_lowest"] = min(calibrated) - start
            columns[f"personal_gain{of}_highest"] = max(calibrated) - start
        columns["personal_clients"] = float(table["client"].nunique())
        rows: list[Any] = table.to_dict("records")
        return Sight(columns, rows)


def calibrate(
    problem: Problem,
    global_model: Model,
    parts: Sequence[Part] = (),
    how: Calibration = Calibration(),  # frozen
) -> tuple[pd.DataFrame, Tensor]:
    """Train every client's classifier from x_T = `global_model`, with the hooks of `parts`.

    A row per client: test_samples, accuracy and that of x_T, global_accuracy, both fractions, NaN
    without test samples; and the classifiers (K, d_head).
    """
    small = _on_features(problem, global_model, parts, how)
    fed, start, K = small.fed, small.fed.start, problem.spec.clients
    heads = start.w.expand(K, -1)
    if how.epochs:
        # in the first round whose random numbers the run did not use
        r = open_round(small, start, small.spec.rounds)
        copies = copies_for_parts(small, r, [part.server(start.w, fed) for part in parts])
        messages = [part.send(copy) for part, copy in zip(parts, copies, strict=True)]
        states = [part.client(start.w, fed) for part in parts]
        clients = [prepare(small, r, i, messages, states) for i in range(K)]
        replies = Workers(small.task, small.largest_batch, cohort=1).train(clients)
        heads = torch.stack([reply.w for reply in replies])
    scorer = problem.own_test.scorer if problem.own_test else problem.scorers[""]
    x, y = problem.task.outputs(global_model, scorer.x)[1], scorer.y
    right = _right(small, start.w, x, y)
    rows = [
        {
            "client": i,
            "test_samples": len(share),
            "accuracy": float(_right(small, heads[i], x[share], y[share]).mean()),
            "global_accuracy": float(right[share].mean()),
        }
        for i, share in enumerate(shares(problem, how.test_split))
    ]
    return pd.DataFrame(rows), heads


def shares(problem: Problem, split: Literal["mirrored", "independent"]) -> list[Indices]:
    """Each client's rows of the test set, drawn with the data seed, if that can be."""
    if problem.own_test is not None:
        return [rows.cpu().numpy() for rows in problem.own_test.rows]
    spec = problem.spec
    rng = seeds.numpy_generator(spec.partition_seed, seeds.ALWAYS, seeds.EVERYONE, "test shares")
    if split == "mirrored":
        counts = problem.fed.labels.cpu().long().numpy()
        return mirror(counts, problem.data.y_test.astype(np.int64), rng)
    if "partition" in problem.identity.objects:
        raise FedbenchError(
            "calibration: test_split = 'independent' applies the run's partition rule to the test "
            "set, but this run was given its clients' samples; use test_split = 'mirrored'"
        )
    drawn: list[Indices] = spec.partition.build("partition")(problem.data.y_test, spec.clients, rng)
    return drawn


def _on_features(problem: Problem, x_T: Model, parts: Sequence[Part], how: Calibration) -> Problem:
    """The problem of training the classifier on the features that the frozen body computes."""
    refuse_conflicts(parts)
    net, lr = problem.task.net, how.lr or problem.spec.lr
    work = {"epochs": how.epochs or 1, "steps": None, "lr": lr, "lr_decay": 1.0}
    # the paper does not say whether it augmented; so the body computes each image's features once
    work |= {"schedule": None, "augment": None}
    spec = problem.spec.changed(**work)
    head = Net(BodyHead(nn.Identity(), net.module().get_submodule("head")))
    in_head, decays = net.head_mask().to(x_T.w.device), problem.task.decays
    start = Model(x_T.w[in_head], {})
    features = problem.task.outputs(x_T, problem.task.x)[1]
    head.find_dropout(features[:2])
    task = replace(
        problem.task, net=head, parts=tuple(parts), prepare=lambda x: x, x=features,
        decays=None if decays is None else decays[in_head],
    )  # fmt: skip
    fed = replace(problem.fed, net=head, d=head.d, start=start, lr=spec.lr)
    # the cohort of its round is not used, and the run's sampler may know no more rounds
    uniform = registry.build("sampler", "uniform", {})
    return replace(problem, spec=spec, task=task, fed=fed, work=Constant(), sampler=uniform)


def _right(small: Problem, head: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """1 for each of the samples x (features) that a classifier predicts correctly, else 0 (N,)."""
    with torch.no_grad():
        return (predictions(small.task.net.eval(Model(head, {}), x)[0]) == y).double()
