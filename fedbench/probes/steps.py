"""How clients' gradients drift apart over their local steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.analysis.drift import aligned, drift, origin, trails, trends
from fedbench.base.checks import Count
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight


@dataclass(frozen=True)
class Steps(Probe):
    """Cosine and projection of each client's gradient on the mean gradient, step by step.

    RMFL paper, Figs. 3 to 5 and equation 2. g_i^k is the gradient of the loss of client i's
    mini-batch at y_i^k, ḡ^k its mean over the clients that make step k.

    Table: round, client, step, `cosine` of g_i^k and ḡ^k, `projection` of g_i^k on ḡ^k, `spread` =
    max ‖g_i^k − g_j^k‖ (the same for all clients), `bias` = ‖g_i^k − ∇f(x_t)‖. If the method
    uploads a momentum, rows with step −1 have `momentum_cosine` and `momentum_projection`, of each
    client's momentum and the mean of all.
    Columns: gradient_cosine and so on, the means over clients and steps; gradient_cosine_slope and
    so on, their slopes per step; update_similarity, the mean cosine of the clients' updates to
    their mean; momentum_cosine and momentum_projection, the means over clients.

    Cost of a watched round: its local training once more, and a pass forward and backward through
    the data of the clients that `reference` names. All gradients of the round are stored, on disk
    beyond 4 GB.
    """

    COLUMNS: ClassVar[Columns] = {
        "gradient_cosine": ("Cosine of the gradients to their mean", "", "higher"),
        "gradient_cosine_slope": (
            "Cosine of the gradients to their mean, change per local step",
            "",
            "higher",
        ),
        "gradient_projection": ("Length of the gradients along their mean", "", "higher"),
        "gradient_projection_slope": (
            "Length of the gradients along their mean, change per local step",
            "",
            "higher",
        ),
        "gradient_spread": ("Largest distance between gradients", "", "lower"),
        "gradient_spread_slope": (
            "Largest distance between gradients, change per local step",
            "",
            "lower",
        ),
        "gradient_bias": ("Bias of the gradients", "", "lower"),
        "gradient_bias_slope": ("Bias of the gradients, change per local step", "", "lower"),
        "update_similarity": ("Cosine of the updates to their mean", "", "higher"),
        "momentum_cosine": ("Cosine of the momenta to their mean", "", "higher"),
        "momentum_projection": ("Length of the momenta along their mean", "", "higher"),
    }
    TABLE: ClassVar[Columns] = {
        "round": ("Communication round", "", ""),
        "client": ("Client", "", ""),
        "step": ("Local step", "", ""),
        "cosine": ("Cosine to the mean gradient", "", "higher"),
        "projection": ("Length along the mean gradient", "", "higher"),
        "spread": ("Largest distance between gradients", "", "lower"),
        "bias": ("Bias of the gradient", "", "lower"),
        "momentum_cosine": ("Cosine to the mean momentum", "", "higher"),
        "momentum_projection": ("Length along the mean momentum", "", "higher"),
    }

    every: Count = 1  # watches round 1 and the rounds every, 2·every, …
    reference: Literal["all", "cohort"] = "all"  # the clients over whose data ∇f(x_t) is taken

    def see(self, s: Scene) -> Sight:
        """Measure every step of a watched round."""
        if s.r.round and (s.r.round + 1) % self.every:
            return Sight({}, [])
        clients = range(s.r.fed.K) if self.reference == "all" else s.r.clients
        rows = drift(trails(s.problem, s.r, s.clients), origin(s.problem, s.r, clients))
        columns, momenta = trends(rows), _momentum(s)
        updates = torch.stack([reply.delta for reply in s.replies])
        columns["update_similarity"] = float(aligned(updates)[0].mean())
        for name in ("momentum_cosine", "momentum_projection"):
            values = [float(row[name]) for row in momenta]
            columns |= {name: sum(values) / len(values)} if values else {}
        return Sight(columns, [{"round": s.r.round + 1, **row} for row in rows + momenta])


def _momentum(s: Scene) -> list[Cells]:
    """Rows with cosine and projection of each client's momentum, under the step −1."""
    sent = _sent(s)
    if not sent:
        return []
    measured = zip(s.r.clients, *aligned(torch.stack(list(sent))), strict=True)
    return [
        {
            "client": int(i),
            "step": -1,
            "momentum_cosine": float(cosine),
            "momentum_projection": float(projection),
        }
        for i, cosine, projection in measured
    ]


def _sent(s: Scene) -> Sequence[Tensor]:
    """Each client's momentum as it was uploaded; empty if no part uploads one."""
    for place, part in enumerate(s.problem.task.parts):
        name = part.uploaded_momentum
        if name and all(name in reply.upload[place] for reply in s.replies):
            return [reply.upload[place][name] for reply in s.replies]
    return []
