"""How clients' gradients drift apart over their local steps (RMFL paper, Figs. 3 to 5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.core.rng import seeded
from fedbench.core.round_data import Round
from fedbench.core.tensors_on_disk import Spill
from fedbench.engine.local_round import Objective, Outputs, by_autograd, local_round
from fedbench.engine.probe import Cells, Columns, Probe, Scene, Sight
from fedbench.engine.problem import ClientResult, PreparedClient, Problem
from fedbench.engine.rounds import full_gradient, snapshot

_GB = 4.0  # of gradients are held in memory; more are mapped from disk
_COLUMN_OF = {
    **{name: f"gradient_{name}" for name in ("cosine", "projection", "spread", "bias")},
    "update_cosine": "update_similarity",
}


@dataclass(frozen=True)
class Steps(Probe):
    """Cosine and projection of each client's gradient on the mean gradient, step by step.

    RMFL paper, Figs. 3 to 5 and equation 2. g_i^k is the gradient of the loss of client i's
    mini-batch at y_i^k, ḡ^k its mean over the clients that make step k.

    Table: round, client, step, `cosine` of g_i^k and ḡ^k, `projection` of g_i^k on ḡ^k, `spread` =
    max ‖g_i^k − g_j^k‖ (the same for all clients), `bias` = ‖g_i^k − ∇f(x_t)‖, `update_cosine` of
    the update y_i^k − x_t that k steps have made and the mean of these (none at step 0). If the
    method uploads a momentum, rows with step −1 have `momentum_cosine` and `momentum_projection`,
    of each client's momentum and the mean of all.
    Columns: gradient_cosine and so on, the means over clients and steps; gradient_cosine_slope and
    so on, their slopes per step; update_similarity, the mean cosine of the clients' whole updates
    to their mean; update_similarity_slope, that of `update_cosine` per step; momentum_cosine and
    momentum_projection, the means over clients.

    Cost of a watched round: its local training once more, and a pass forward and backward through
    the data of the clients that `reference` names. All gradients and updates of the round are
    stored, on disk beyond 4 GB.
    """

    COLUMNS: ClassVar[Columns] = {
        "gradient_cosine": ("Cosine of the gradients to their mean", "", "higher"),
        "gradient_cosine_slope": (
            "Cosine of the gradients to their mean, change per local step", "", "higher",
        ),
        "gradient_projection": ("Length of the gradients along their mean", "", "higher"),
        "gradient_projection_slope": (
            "Length of the gradients along their mean, change per local step", "", "higher",
        ),
        "gradient_spread": ("Largest distance between gradients", "", "lower"),
        "gradient_spread_slope": (
            "Largest distance between gradients, change per local step", "", "lower",
        ),
        "gradient_bias": ("Bias of the gradients", "", "lower"),
        "gradient_bias_slope": ("Bias of the gradients, change per local step", "", "lower"),
        "update_similarity": ("Cosine of the updates to their mean", "", "higher"),
        "update_similarity_slope": (
            "Cosine of the updates so far to their mean, change per local step", "", "higher",
        ),
        "momentum_cosine": ("Cosine of the momenta to their mean", "", "higher"),
        "momentum_projection": ("Length of the momenta along their mean", "", "higher"),
    }  # fmt: skip
    TABLE: ClassVar[Columns] = {
        "round": ("Communication round", "", ""),
        "client": ("Client", "", ""),
        "step": ("Local step", "", ""),
        "cosine": ("Cosine to the mean gradient", "", "higher"),
        "projection": ("Length along the mean gradient", "", "higher"),
        "spread": ("Largest distance between gradients", "", "lower"),
        "bias": ("Bias of the gradient", "", "lower"),
        "update_cosine": ("Cosine of the update so far to the mean update", "", "higher"),
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
        spill, trails = Spill(_GB), {}
        for client, (_, g, y) in zip(s.clients, replay(s.problem, s.r, s.clients), strict=True):
            trails[client.client] = spill.keep(g), spill.keep(y - s.r.w)
        rows = drift(trails, origin(s.problem, s.r, clients))
        columns, momenta = trends(rows), _momentum(s)
        updates = torch.stack([reply.delta(s.r.w) for reply in s.replies])
        columns["update_similarity"] = float(aligned(updates)[0].mean())
        for name in ("momentum_cosine", "momentum_projection") if momenta else ():
            columns[name] = sum(float(row[name]) for row in momenta) / len(momenta)
        return Sight(columns, [{"round": s.r.round + 1, **row} for row in rows + momenta])


def _momentum(s: Scene) -> list[Cells]:
    """Rows with cosine and projection of each client's momentum, under the step −1."""
    for place, part in enumerate(s.problem.task.parts):
        name = part.uploaded_momentum
        if name and all(name in reply.upload[place] for reply in s.replies):
            sent = torch.stack([reply.upload[place][name] for reply in s.replies])
            measured = zip(s.r.clients, *(values.tolist() for values in aligned(sent)), strict=True)
            return [
                {"client": int(i), "step": -1, "momentum_cosine": c, "momentum_projection": p}
                for i, c, p in measured
            ]
    return []


def aligned(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """cos(v_i, v̄) and (v_i·v̄)/‖v̄‖ of vectors (n, d) against their mean v̄, each (n,), float64."""
    v = vectors.double()
    mean = v.mean(0)
    along = v @ mean / mean.norm()
    return along / v.norm(dim=1), along


def drift(trails: Mapping[int, tuple[Tensor, Tensor]], origin: Tensor) -> list[Cells]:
    """One row per step and client that makes it: client, step, and the measures.

    trails: by client its gradients and its updates so far, each (H_i, d), the k-th at y_i^k;
    origin: ∇f(x_t).
    """
    rows: list[Cells] = []
    for k in range(max(len(g) for g, _ in trails.values())):
        clients = [i for i, (g, _) in trails.items() if k < len(g)]
        g = torch.stack([trails[i][0][k] for i in clients]).to(origin.device).double()
        updates = torch.stack([trails[i][1][k] for i in clients])
        largest = float(torch.pdist(g).max()) if len(g) > 1 else 0.0
        each = *aligned(g), (g - origin).norm(dim=1), aligned(updates)[0]
        for i, c, p, b, u in zip(clients, *(values.tolist() for values in each), strict=True):
            values = {"cosine": c, "projection": p, "spread": largest, "bias": b}
            rows.append({"client": i, "step": k, **values, "update_cosine": u})
    return rows


def origin(problem: Problem, r: Round, clients: Sequence[int]) -> Tensor:
    """∇f(x_t) over all data of these clients (d,), float64, with the spec's mixing weights."""
    sizes = problem.fed.n[list(clients)].double()
    p = sizes if problem.spec.weights == "samples" else torch.ones_like(sizes)
    noise = seeds.number(problem.spec.seed, r.round, seeds.EVERYONE, "dropout")
    total = torch.zeros_like(r.w, dtype=torch.float64)
    with seeded(noise, problem.device):
        for i, share in zip(clients, p / p.sum(), strict=True):
            total += share * full_gradient(problem.task, r.buffers, problem.rows[i])(r.w)
    return total


def trends(rows: Sequence[Cells]) -> dict[str, float]:
    """Each measure's mean over clients and steps, and its least-squares slope per step."""
    frame = pd.DataFrame(rows).rename(columns=lambda name: _COLUMN_OF.get(name, name))
    columns: dict[str, float] = {}
    for name in _COLUMN_OF.values():
        known = frame[["step", name]].dropna()
        k = known["step"] - known["step"].mean()
        squares = float(np.square(k).sum())
        columns[name] = float(known[name].mean())
        slope = float((k * known[name]).sum()) / squares if squares else float("nan")
        columns[f"{name}_slope"] = slope
    return columns


def replay(
    problem: Problem, r: Round, clients: Sequence[PreparedClient]
) -> Iterator[tuple[ClientResult, Tensor, Tensor]]:
    """Repeat the training of clients as prepared before it: results, gradients, weights y^k (H, d).

    Each trains alone: one that trained side by side with others is repeated up to rounding. The
    mini-batch gradients contain the method's loss terms, but none of its gradient terms (FedProx's
    pull, control variates), no clipping, weight decay or momentum. Of a method that differentiates
    several times per step (SAM), they are the first, at y^k.
    """
    for client in snapshot(problem.task, clients):
        made: list[tuple[Tensor, Tensor]] = []
        reply = local_round(problem.task, client, partial(_recording, made))
        times, left = divmod(len(made), len(client.rows))
        if left:
            told = f"{len(made)} gradients in {len(client.rows)} steps"
            raise FedbenchError(f"replay: {told}; a part does not differentiate equally in each")
        gradients, weights = zip(*made[::times], strict=True)
        yield reply, torch.stack(gradients), torch.stack(weights)


def _recording(
    made: list[tuple[Tensor, Tensor]], objective: Objective, w: Tensor
) -> tuple[Tensor, Outputs]:
    gradient, outputs = by_autograd(objective, w)
    made.append((gradient, w.detach().clone()))
    return gradient, outputs
